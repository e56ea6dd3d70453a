// Means and differences over the seeds of a length study.
#include "lab/length/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/length/plan.hpp"

namespace isentropic::lab::length {
namespace {

constexpr double kMargin = 0.05;  // nats above the final loss of 1/sqrt d

std::vector<Point> mean_points(const std::vector<Outcome>& outcomes) {
  std::vector<Point> out;
  const auto share = 1 / static_cast<double>(outcomes.size());
  for (std::size_t i = 0; i < outcomes.front().tested->points.size(); ++i) {
    Point mean{.n = outcomes.front().tested->points[i].n};
    for (const Outcome& outcome : outcomes) {
      const Point& point = outcome.tested->points.at(i);
      mean.loss += share * point.loss, mean.entropy += share * point.entropy;
      mean.deviation += share * point.deviation, mean.copying += share * point.copying;
    }
    out.push_back(mean);
  }
  return out;
}

// The difference of a quantity between two laws, over the seeds that both have.
template <class Number>
Paired difference(const std::vector<Outcome>& a, const std::vector<Outcome>& b, const Number& number) {
  std::vector<double> out;
  for (const Outcome& x : a)
    for (const Outcome& y : b)
      if (x.result->run.seed == y.result->run.seed) out.push_back(number(*x.tested) - number(*y.tested));
  return paired(out);
}

// What longer text is worth to the same networks; empty if the trained length is not evaluated.
Paired beyond_less_trained_length(const Study& study, const std::vector<Outcome>& outcomes) {
  std::vector<double> out;
  for (const Outcome& outcome : outcomes) {
    const auto& points = outcome.tested->points;
    const auto own = std::ranges::find(points, study.length, &Point::n);
    if (own != points.end()) out.push_back(beyond(study, *outcome.tested) - own->loss);
  }
  return paired(out);
}

std::vector<double> mean_learnt(const std::vector<Outcome>& outcomes) {
  std::vector<double> out(outcomes.front().result->learnt.size());
  for (const Outcome& outcome : outcomes)
    for (std::size_t layer = 0; layer < out.size(); ++layer)
      out[layer] += outcome.result->learnt.at(layer) / static_cast<double>(outcomes.size());
  return out;
}

void fit_entropy(const Study& study, LawLine& line) {
  double count = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const Point& point : line.points) {
    if (point.n < study.length) continue;
    const double log_n = std::log(static_cast<double>(point.n));
    count += 1, x += log_n, y += point.entropy;
    xx += log_n * log_n, xy += log_n * point.entropy, yy += point.entropy * point.entropy;
  }
  if (count < 2) return;
  line.slope = (count * xy - x * y) / (count * xx - x * x);
  line.variance = std::max(0.0, yy / count - (y / count) * (y / count));
}

// The first step within the margin of the final loss of 1/sqrt d with the same seed, mean over seeds; 0 if none.
double steps_to(const std::vector<Outcome>& outcomes, const std::vector<Outcome>& usual) {
  double sum = 0;
  for (const Outcome& outcome : outcomes) {
    const auto same_seed = [&](const Outcome& x) { return x.result->run.seed == outcome.result->run.seed; };
    const auto other = std::ranges::find_if(usual, same_seed);
    if (other == usual.end() || other->result->curve.empty()) return 0;
    const double target = other->result->curve.back().second + kMargin;
    const auto& curve = outcome.result->curve;
    const auto found = std::ranges::find_if(curve, [&](const auto& point) { return point.second <= target; });
    if (found == curve.end()) return 0;
    sum += static_cast<double>(found->first);
  }
  return sum / static_cast<double>(outcomes.size());
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

std::string listed(const std::vector<std::string>& names) { return names.empty() ? "none" : joined(names, ", "); }

// "log_n (learning rate 0.004, seed 1)", or with a formula; in the last stage also what it changes.
std::string named(const Run& run, const std::string& law) {
  const std::string changed = run.stage == kRegularise ? fmt::format(", dropout {:g}, weight decay {:g}",
                                                                     run.attention_dropout, run.weight_decay)
                                                       : "";
  return fmt::format("{} (learning rate {:g}, seed {}{})", law, run.learning_rate, run.seed, changed);
}

bool is_less(const Paired& difference) { return difference.beyond_spread() && difference.mean < 0; }

// What cannot be compared (a law, 1/sqrt d or the window diverged, or was not requested) is in no sentence.
std::vector<std::string> comparisons(const std::vector<LawLine>& laws, std::string LawLine::*name) {
  std::vector<std::string> better, worse, unclear, uses_text, out;
  bool compares_text = false;
  for (const LawLine& line : laws) {
    if (line.law == "inverse_sqrt_d" || line.law == "window") continue;
    const Paired& difference = line.against_usual;
    if (difference.seeds > 0)
      (!difference.beyond_spread() ? unclear : difference.mean < 0 ? better : worse).push_back(line.*name);
    compares_text |= line.against_window.seeds > 0 && line.against_own.seeds > 0;
    if (is_less(line.against_window) && is_less(line.against_own)) uses_text.push_back(line.*name);
  }
  if (better.size() + worse.size() + unclear.size() > 0)
    out.push_back(
        "Beyond the trained length, better than 1/sqrt d by more than the spread over seeds: " + listed(better) +
        ". Worse: " + listed(worse) + ". No difference, or one seed only: " + listed(unclear) + ".");
  if (compares_text)
    out.push_back("Better with longer text than with the trained length alone, truncated or as a window: " +
                  listed(uses_text) + ".");
  return out;
}

// Networks that diverged, and laws whose tests were not finite.
std::vector<std::string> missing(const Study& study, const std::vector<Result>& results, const std::string& positions,
                                 std::string Law::*name) {
  std::vector<std::string> diverged, not_finite, out;
  const std::vector<Law> laws = laws_of(study);
  for (const Result& result : results) {
    const Run& run = result.run;
    if (run.positions != positions) continue;
    if (result.diverged) diverged.push_back(named(run, law_named(laws, run.law).*name));
    for (const std::string& law : result.not_finite) not_finite.push_back(named(run, law_named(laws, law).*name));
  }
  if (!diverged.empty()) out.push_back("Diverged: " + listed(diverged) + ".");
  if (!not_finite.empty()) out.push_back("Not finite when evaluated: " + listed(not_finite) + ".");
  return out;
}

std::string conclude(std::vector<std::string> sentences, const std::vector<std::string>& more) {
  sentences.insert(sentences.end(), more.begin(), more.end());
  return joined(sentences, " ");
}

// For each law with other regularisation; the usual one with the same seed comes first.
std::vector<RegularisedLine> regularised_lines(const Study& study, const std::vector<Result>& results,
                                               const std::string& positions) {
  std::vector<RegularisedLine> out;
  const auto add = [&](const Result& result) {
    const Run& run = result.run;
    const auto own = std::ranges::find(result.tests, run.law, &Tested::law);
    out.push_back({run.law, run.attention_dropout, run.weight_decay, result.validation, beyond(study, *own)});
  };
  for (const Law& law : laws_of(study)) {
    std::vector<const Result*> others;
    for (const Result& result : results) {
      const Run& run = result.run;
      if (run.stage == kRegularise && run.law == law.name && run.positions == positions && !result.diverged)
        others.push_back(&result);
    }
    if (others.empty()) continue;
    for (const Outcome& usual : outcomes(study, results, law.name, positions))
      if (usual.result->run.seed == others.front()->run.seed) add(*usual.result);
    for (const Result* other : others) add(*other);
  }
  return out;
}

}  // namespace

std::vector<Findings> findings_of(const Study& study, const std::vector<Result>& results) {
  std::vector<Findings> out;
  for (const std::string& positions : study.positions) {
    Findings found{
        .positions = positions, .laws = {}, .regularised = {}, .conclusion = {}, .conclusion_in_formulas = {}};
    const auto usual = outcomes(study, results, "inverse_sqrt_d", positions);
    const auto window = outcomes(study, results, "window", positions);
    for (const Law& law : laws_of(study)) {
      const auto own = outcomes(study, results, law.name, positions);
      if (own.empty()) continue;
      LawLine line{.law = law.name, .formula = law.formula, .learning_rate = own.front().result->run.learning_rate};
      line.seeds = static_cast<int>(own.size());
      line.points = mean_points(own);
      line.learnt = mean_learnt(own);
      line.beyond = beyond(study, {law.name, line.points});
      const auto loss_beyond = [&](const Tested& tested) { return beyond(study, tested); };
      line.against_usual = difference(own, usual, loss_beyond);
      line.against_window = difference(own, window, loss_beyond);
      line.against_own = beyond_less_trained_length(study, own);
      for (std::size_t i = 0; i < line.points.size(); ++i)
        line.gaps.push_back(difference(own, usual, [&](const Tested& tested) { return tested.points[i].loss; }).mean);
      fit_entropy(study, line);
      if (law.networks.empty()) line.steps = steps_to(own, usual);
      for (const Outcome& outcome : own)
        line.spikes += static_cast<double>(outcome.result->spikes) / static_cast<double>(own.size());
      found.laws.push_back(std::move(line));
    }
    std::ranges::stable_sort(found.laws, [](const LawLine& a, const LawLine& b) {
      const bool compare = a.against_usual.seeds > 0 && b.against_usual.seeds > 0;
      return compare ? a.against_usual.mean < b.against_usual.mean : a.beyond < b.beyond;
    });
    found.regularised = regularised_lines(study, results, positions);
    found.conclusion = conclude(comparisons(found.laws, &LawLine::law), missing(study, results, positions, &Law::name));
    found.conclusion_in_formulas =
        conclude(comparisons(found.laws, &LawLine::formula), missing(study, results, positions, &Law::formula));
    out.push_back(std::move(found));
  }
  return out;
}

std::string precision_of(const Result& result) {
  return result.device + " in " + (result.bfloat16 ? "bfloat16" : "float32");
}

std::string mixed_precision(const std::vector<Result>& results) {
  std::map<std::string, int> counts;
  for (const Result& result : results)
    if (!result.device.empty()) ++counts[precision_of(result)];
  if (counts.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [precision, count] : counts) parts.push_back(fmt::format("{} on {}", count, precision));
  return "Networks were trained in different precisions: " + listed(parts) + ".";
}

}  // namespace isentropic::lab::length
