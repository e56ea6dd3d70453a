// Trains the small models that claims ask for, with three seeds each.
#include "lab/ledger/network_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "lab/ledger/small_model.hpp"

namespace isentropic::lab {
namespace {

using experiments::tools::Estimate;
using experiments::tools::Mean;
using ledger::Check;

constexpr int kStarts = 3;

// libtorch has one generator and one thread pool, so one model is trained at a time.
SmallResult trained(SmallRun run, Check& check) {
  static std::mutex one_at_a_time;
  run.seed = check.random().bits() >> 33;
  const std::scoped_lock lock(one_at_a_time);
  return train_small(run);
}

std::vector<SmallResult> trained_starts(const SmallRun& run, Check& check) {
  std::vector<SmallResult> out;
  for (int start = 0; start < kStarts; ++start) out.push_back(trained(run, check));
  return out;
}

template <class Of>
Estimate over_starts(const std::vector<SmallResult>& results, const Of& of) {
  Mean out;
  for (const SmallResult& x : results) out.add(of(x));
  return out.estimate();
}

const Moment& last(const SmallResult& x) { return x.moments.back(); }

// The moment of the lowest validation loss.
const Moment& best(const SmallResult& x) { return *std::ranges::min_element(x.moments, {}, &Moment::validation); }

// 001-s19
void entropy_in_training(Check& check) {
  const std::vector<SmallResult> starts = trained_starts({.train = 2048}, check);
  const Estimate begin = over_starts(starts, [](const SmallResult& x) { return x.moments.front().mean_entropy(); });
  const Estimate fall = over_starts(
      starts, [](const SmallResult& x) { return x.moments.front().mean_entropy() - last(x).mean_entropy(); });
  const Estimate early = over_starts(starts, [](const SmallResult& x) {
    const Moment& third = x.moments[x.moments.size() / 3];
    const double first = x.moments.front().mean_entropy();
    return (first - third.mean_entropy()) / (first - last(x).mean_entropy());
  });
  check.at_least("H/log n at the first step", begin.mean, .95);
  check.at_least("its fall in training", fall.mean, .1);
  check.show("the share of it in the first third", early.mean);  // depends on the model and its schedule
  check.show("H/log n at the end, first layer",
             over_starts(starts, [](const SmallResult& x) { return last(x).entropy.front(); }).mean);
  check.show("H/log n at the end, last layer",
             over_starts(starts, [](const SmallResult& x) { return last(x).entropy.back(); }).mean);
  check.show("loss on new text at its least",
             over_starts(starts, [](const SmallResult& x) { return best(x).validation; }).mean);
  check.show("loss on new text at the end",
             over_starts(starts, [](const SmallResult& x) { return last(x).validation; }).mean);
  check.show("change of H/log n between them", over_starts(starts, [](const SmallResult& x) {
                                                 return last(x).mean_entropy() - best(x).mean_entropy();
                                               }).mean);

  report::Plot plot{.title = "Entropy and losses of one start", .x_label = "step", .y_label = "H/log n, nats"};
  report::PlotCurve entropy{.label = "H/log n"}, train{.label = "loss"}, validation{.label = "loss on new text"};
  for (const Moment& moment : starts.front().moments)
    for (const auto& [curve, y] :
         {std::pair{&entropy, moment.mean_entropy()}, {&train, moment.loss}, {&validation, moment.validation}})
      curve->x.push_back(static_cast<double>(moment.step)), curve->y.push_back(y);
  plot.curves = {entropy, train, validation};
  check.plot(plot);
}

// Three models each, with entropy encouraged, left alone and discouraged.
struct Directions {
  std::vector<SmallResult> high, free, low;
};

Directions trained_directions(Check& check) {
  const SmallRun free{.train = 2048};
  SmallRun high = free, low = free;
  high.entropy_weight = low.entropy_weight = .3;
  low.direction = pytorch::Direction::discourage;
  return {trained_starts(high, check), trained_starts(free, check), trained_starts(low, check)};
}

double end_entropy(const std::vector<SmallResult>& starts) {
  return over_starts(starts, [](const SmallResult& x) { return last(x).mean_entropy(); }).mean;
}

// 001-s20
void terms_and_losses(Check& check) {
  const Directions all = trained_directions(check);
  const double free = end_entropy(all.free);
  check.at_least("H/log n at the end, encouraged less left alone", end_entropy(all.high) - free, .1);
  check.at_most("discouraged less left alone", end_entropy(all.low) - free, -.1);
  for (const auto& [name, starts] :
       {std::pair{"encouraged", &all.high}, {"left alone", &all.free}, {"discouraged", &all.low}}) {
    const auto show = [&, name = name](const char* what, const Estimate& found) {
      check.show(fmt::format("{}: {}", name, what), found.mean);
      check.show(fmt::format("{}: {}, standard error", name, what), found.error);
    };
    show("loss a quarter of the way",
         over_starts(*starts, [](const SmallResult& x) { return x.moments[x.moments.size() / 4].loss; }));
    show("rise of the loss on new text after its least",
         over_starts(*starts, [](const SmallResult& x) { return last(x).validation - best(x).validation; }));
  }
}

// 003-s30-Q4
void entropy_and_generalisation(Check& check) {
  const Directions all = trained_directions(check);
  std::vector<double> entropy, gap;
  for (const std::vector<SmallResult>* starts : {&all.high, &all.free, &all.low})
    for (const SmallResult& x : *starts) {
      entropy.push_back(last(x).mean_entropy());
      gap.push_back(last(x).validation - last(x).loss);
    }
  check.at_least("range of H/log n over nine models",
                 *std::ranges::max_element(entropy) - *std::ranges::min_element(entropy), .2);
  check.at_least("least gap between the loss on new text and on the batch", *std::ranges::min_element(gap), .1);
  check.show("slope of the gap in H/log n", experiments::tools::slope(entropy, gap));
  report::Plot plot{.title = "Nine models", .x_label = "H/log n at the end", .y_label = "gap of the losses, nats"};
  plot.curves.push_back({.label = "", .x = entropy, .y = gap, .style = report::CurveStyle::points});
  check.plot(plot);
}

// 003-s30-Q1. Both scales are 1/4 at 32 keys, the training length; one of them grows with log n beyond.
void scales_beyond_the_trained_length(Check& check) {
  constexpr std::int64_t kFar = 512;
  SmallRun run{.train = 65536};
  std::vector<double> growth;
  for (const auto& [name, scale] :
       {std::pair{"1/sqrt d", Scale::inverse_sqrt_d()}, {"kappa log n/d", Scale::log_n(4 / std::log(32.0))}}) {
    run.scale = scale;
    Mean near, far, rise;
    for (const SmallResult& x : trained_starts(run, check)) {
      const AtLength trained = at_length(x.model, x.corpus, run.length), beyond = at_length(x.model, x.corpus, kFar);
      near.add(trained.loss), far.add(beyond.loss), rise.add(beyond.entropy - trained.entropy);
    }
    check.show(fmt::format("{}: loss on new text at 32", name), near.mean());
    check.show(fmt::format("{}: at 512", name), far.mean());
    check.show(fmt::format("{}: standard error of that", name), far.estimate().error);
    check.show(fmt::format("{}: rise of H from 32 to 512 keys", name), rise.mean());
    growth.push_back(rise.mean());
  }
  check.at_most("rise of H with log n less that without", growth[1] - growth[0], -.2);
}

}  // namespace

ledger::NetworkChecks network_checks() {
  return {{"001-s19", entropy_in_training},
          {"001-s20", terms_and_losses},
          {"003-s30-Q1", scales_beyond_the_trained_length},
          {"003-s30-Q4", entropy_and_generalisation}};
}

}  // namespace isentropic::lab
