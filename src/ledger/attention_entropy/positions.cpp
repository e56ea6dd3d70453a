// Section 18: the effect of position codes and biases on the entropy.
#include <algorithm>
#include <cmath>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/position_codes.hpp"
#include "isentropic/theory/position_bias.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

constexpr std::size_t kContextKeys = 256, kDimension = 64;

double mean_row_entropy(const Table& query, const Table& key, const Bias& bias = {}) {
  const AttentionProblem problem{.query = view_of(query),
                                 .key = view_of(key),
                                 .bias = bias,
                                 .statistics = Statistics::of({Statistic::entropy}),
                                 .executor = &serial_executor()};
  Mean out;
  for (double h : attention_statistics(problem).statistics.entropy.to_doubles()) out.add(h);
  return out.mean();
}

Table normals(Random* random) { return {kContextKeys, kDimension, random->normals(kContextKeys * kDimension)}; }

Table plus(Table x, double factor, const Table& y) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += factor * y.values[i];
  return x;
}

// A table of biases by lag, kContextKeys on both sides of 0.
template <class Function>
std::vector<double> by_lag(Function&& function) {
  std::vector<double> out;
  for (std::int64_t lag = -static_cast<std::int64_t>(kContextKeys); lag <= static_cast<std::int64_t>(kContextKeys);
       ++lag)
    out.push_back(function(lag));
  return out;
}

Bias relative(const std::vector<double>& table) {
  return Bias::relative(View(table.data(), {1, static_cast<std::int64_t>(table.size())}));
}

void two_kinds_of_code(Check& check) {
  const std::size_t n = 12, d = 6;
  const Table q(n, d, check.random().normals(n * d)), k(n, d, check.random().normals(n * d)),
      p(n, d, check.random().normals(n * d));
  const std::vector<double> b = check.random().normals(2 * n + 1);
  AttentionProblem options;
  options.scale = Scale::constant(1);
  const Table absolute = weights_of(plus(q, 1, p), plus(k, 1, p), options);
  options.bias = Bias::relative(View(b.data(), {1, static_cast<std::int64_t>(b.size())}));
  const Table biased = weights_of(q, k, options);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> sums(n, 0.0), shifted(n);
    for (std::size_t j = 0; j < n; ++j) {
      shifted[j] = b[i + n - j];
      for (std::size_t x = 0; x < d; ++x) {
        sums[j] += (q(i, x) + p(i, x)) * (k(j, x) + p(j, x));
        shifted[j] += q(i, x) * k(j, x);
      }
    }
    const std::vector<double> expected = weights_of(sums), other = weights_of(shifted);
    for (std::size_t j = 0; j < n; ++j)
      worst = std::max({worst, std::abs(absolute(i, j) - expected[j]), std::abs(biased(i, j) - other[j])});
  }
  check.near("weights against the scores written out, worst", worst, 0, 1e-12);
}

// Scores -|i - j| / 2 are already local; adding noise to them makes the rows even more selective.
void noise_on_local_scores(Check& check) {
  const Table zero(kContextKeys, 1, 0.0);
  for (const auto& [deviation, quoted] : {std::pair{0.0, 2.348}, std::pair{2.0, 1.567}}) {
    Mean h;
    for (int t = 0; t < 5; ++t) {
      Table scores(kContextKeys, kContextKeys, check.random().normals(kContextKeys * kContextKeys, deviation));
      for (std::size_t i = 0; i < kContextKeys; ++i)
        for (std::size_t j = 0; j < kContextKeys; ++j)
          scores(i, j) -= 0.5 * std::abs(static_cast<double>(i) - static_cast<double>(j));
      for (const Record& record : records_of(scores)) h.add(entropy(record));
    }
    check.near("H of local scores with noise of deviation " + short_text(deviation) + ", quoted",
               deviation == 0 ? Estimate{h.mean(), 0} : h.estimate(), quoted,
               5e-4 + (deviation == 0 ? 0 : 5 * h.estimate().error));
  }
}

// What the content tells without codes: nothing, or that one key matches the query.
enum class Content : std::uint8_t { random, one_match };

// Mean row entropies, one per pair of matrices.
struct CodeEntropies {
  Mean none, small, large, shared, bias;
};

CodeEntropies with_random_codes(Check& check, Content content) {
  CodeEntropies out;
  for (std::int64_t t = 0; t < check.effort(12, 40); ++t) {
    const Table q = normals(&check.random()), r = normals(&check.random()), other = normals(&check.random());
    Table k = normals(&check.random());
    if (content == Content::one_match)  // the keys are the queries in reverse order
      for (std::size_t i = 0; i < kContextKeys; ++i)
        std::copy(q.row(i).begin(), q.row(i).end(), k.row(kContextKeys - 1 - i).begin());
    const std::vector<double> table = check.random().normals(2 * kContextKeys + 1);
    out.none.add(mean_row_entropy(q, k));
    out.small.add(mean_row_entropy(plus(q, 0.3, r), plus(k, 0.3, other)));
    out.large.add(mean_row_entropy(plus(q, 1, r), plus(k, 1, other)));
    out.shared.add(mean_row_entropy(plus(q, 1, r), plus(k, 1, r)));
    out.bias.add(mean_row_entropy(q, k, relative(table)));
  }
  return out;
}

// Content without information: codes add variance to the scores, and H falls by half of it.
void random_codes_on_random_content(Check& check, const CodeEntropies& h) {
  // Quoted from 20 matrices each.
  const auto quoted = [&](const std::string& what, const Mean& found, double value, double digits) {
    check.near(what + ", quoted", found.estimate(), value, digits + 5 * found.deviation() / std::sqrt(20.0));
  };
  quoted("H without codes", h.none, 5.053, 5e-4);
  quoted("H with codes of size 0.3", h.small, 4.962, 5e-4);
  quoted("H with codes of size 1", h.large, 3.791, 5e-4);
  quoted("H with one code of size 1 for queries and keys", h.shared, 2.09, 5e-3);
  quoted("H with a random bias", h.bias, 4.562, 5e-4);
  check.near("log n - Var / 2 for a random bias, quoted", std::log(256.0) - 1, 4.545, 5e-4);
  check.near("H with a random bias against log n - Var / 2", h.bias.estimate(), std::log(256.0) - 1, 0.05);
  check.near("H with codes of size 0.3 against log n - Var / 2", h.small.estimate(),
             std::log(256.0) - std::pow(1.09, 2) / 2, 0.02);
  // Var = 4 is no longer far below 2 log n = 11. The varying length of the queries adds 0.01.
  const double wide = expected_row(ScoreLaw::gaussian(), std::log(256.0), 2).entropy;
  check.near("H with codes of size 1 against that of scores N(0, 4)", h.large.estimate(), wide, 0.03);
  check.near("that above log n - Var / 2 by", wide - (std::log(256.0) - 2), 0.23, 0.005);
}

void random_codes(Check& check) {
  const CodeEntropies plain = with_random_codes(check, Content::random),
                      matched = with_random_codes(check, Content::one_match);
  const CodeEntropies& chosen = check.choose(matched, plain);
  check.at_least("H with random codes of size 0.3 less H without", chosen.small.mean() - chosen.none.mean(), 0);
  check.at_least("H with random codes of size 1 less H without", chosen.large.mean() - chosen.none.mean(), 0);
  check.at_least("H with a random bias less H without", chosen.bias.mean() - chosen.none.mean(), 0);
  random_codes_on_random_content(check, plain);
  // A match scores 8, give or take |q|^2 / 8 - 8, among scores N(0, 1): codes of size 1 make that N(0, 4).
  check.at_most("H of a matching key without codes", matched.none.mean(), 2);
  check.at_least("the same with codes of size 1, less", matched.large.mean() - matched.none.mean(), 0.5);
  noise_on_local_scores(check);
  std::vector<double> annealed;  // queries and keys of variance 1 + size^2
  for (const double size : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0})
    annealed.push_back(std::log(256.0) - std::pow(1 + size * size, 2) / 2);
  const auto curve = [](const char* label, const CodeEntropies& h) {
    return report::PlotCurve{.label = label, .x = {0, 0.3, 1}, .y = {h.none.mean(), h.small.mean(), h.large.mean()}};
  };
  check.plot({.title = "Random codes of 256 positions, d = 64",
              .x_label = "size of the codes",
              .y_label = "H (nats)",
              .curves = {curve("random content", plain),
                         curve("one matching key", matched),
                         {.label = "log n - (1 + size^2)^2 / 2",
                          .x = {0, 0.2, 0.4, 0.6, 0.8, 1},
                          .y = annealed,
                          .style = report::CurveStyle::formula}}});
}

void local_codes(Check& check) {
  const Table codes = sinusoidal_codes(kContextKeys, kDimension);
  const std::vector<double> logarithmic =
      by_lag([](std::int64_t lag) { return -std::log1p(std::abs(static_cast<double>(lag))); });
  Mean none, sinusoidal, alibi, log_bias;
  for (std::int64_t t = 0; t < check.effort(12, 40); ++t) {
    const Table q = normals(&check.random()), k = normals(&check.random());
    none.add(mean_row_entropy(q, k));
    sinusoidal.add(mean_row_entropy(plus(q, 1, codes), plus(k, 1, codes)));
    alibi.add(mean_row_entropy(q, k, Bias::alibi(0.1)));
    log_bias.add(mean_row_entropy(q, k, relative(logarithmic)));
  }
  check.at_most("H with sinusoidal codes, against none", sinusoidal.mean(), none.mean());
  check.at_most("H with ALiBi 0.1, against none", alibi.mean(), none.mean());
  check.at_most("H with -log(1 + lag), against none", log_bias.mean(), none.mean());
  // Quoted from 30 and 20 matrices.
  const auto quoted = [&](const std::string& what, const Mean& h, double value) {
    check.near(what + ", quoted", h.estimate(), value, 5e-4 + 5 * h.deviation() / std::sqrt(20.0));
  };
  quoted("H with sinusoidal codes", sinusoidal, 4.527);
  quoted("H with ALiBi 0.1", alibi, 3.464);
  quoted("H with -log(1 + lag)", log_bias, 4.141);
}

// The entropy of the last of n rows, with scores that are 0 except for the bias.
double last_row_entropy(std::size_t n, double slope) {
  const std::vector<double> zero(n, 0.0);
  const double one = 1;
  const AttentionProblem problem{.query = View(&one, {1, 1, 1, 1}),
                                 .key = View(zero.data(), {1, 1, static_cast<std::int64_t>(n), 1}),
                                 .mask = Mask::causal(Align::end),
                                 .bias = Bias::alibi(slope),
                                 .statistics = Statistics::of({Statistic::entropy}),
                                 .executor = &serial_executor()};
  return attention_statistics(problem).statistics.entropy.at({0, 0, 0});
}

void bias_towards_near(Check& check) {
  const Table q = normals(&check.random()), k = normals(&check.random());
  // Content without structure, or content that already favours distant keys as much as the bias favours near ones.
  const std::vector<double> none = by_lag([](std::int64_t) { return 0.0; }),
                            far = by_lag([](std::int64_t lag) { return 0.1 * std::abs(static_cast<double>(lag)); }),
                            near = by_lag([](std::int64_t lag) { return -0.1 * std::abs(static_cast<double>(lag)); });
  const std::vector<double> content = check.choose(none, far), both = check.choose(near, none);  // content + bias
  const double before = mean_row_entropy(q, k, relative(content)), after = mean_row_entropy(q, k, relative(both));
  check.at_most("H with a bias towards near keys, against without", after, before);

  std::vector<double> peaked(kContextKeys);
  for (std::size_t j = 0; j < kContextKeys; ++j) peaked[j] = -0.1 * static_cast<double>(j);
  check.near("H of a peak -0.1 j over 256 keys, quoted", entropy_of(peaked), 3.303, 5e-4);
  for (std::size_t j = 0; j < kContextKeys; ++j) peaked[j] += 0.1 * static_cast<double>(j);
  check.near("H with the opposite bias added, quoted", entropy_of(peaked), 5.545, 5e-4);

  report::PlotCurve measured{.label = "kernel, slope 0.1", .x = {}, .y = {}},
      law{.label = "closed form", .x = {}, .y = {}, .style = report::CurveStyle::formula};
  for (const std::size_t n : {16u, 64u, 256u, 1024u, 4096u}) {
    measured.x.push_back(static_cast<double>(n)), measured.y.push_back(last_row_entropy(n, 0.1));
    law.x.push_back(static_cast<double>(n)),
        law.y.push_back(one_sided_alibi_entropy(0.1, static_cast<std::int64_t>(n)));
    check.near("one-sided ALiBi 0.1, n = " + std::to_string(n), measured.y.back(), law.y.back(), 1e-10);
  }
  check.near("one-sided ALiBi 0.1, n = 4096, against all distances", measured.y.back(), one_sided_alibi_entropy(0.1),
             1e-10);
  check.near("the same against 3.3030", measured.y.back(), 3.3030, 5e-5);
  check.plot({.title = "Entropy of a one-sided ALiBi row",
              .x_label = "keys n",
              .y_label = "H (nats)",
              .x_scale = report::PlotScale::log,
              .curves = {measured, law}});
}

}  // namespace

std::vector<Claim> position_claims() {
  return {
      computed("001-74,75", Verdict::holds, "Absolute codes enter as (q + p).(k + p), relative ones as q.k + b(i - j)",
               "", two_kinds_of_code),
      computed("001-s18a", Verdict::holds_if, "Random position codes raise the entropy",
               "if the content already singles out a key, which they blur. Where it says nothing they add variance to "
               "the scores, and H falls: to about log n - Var / 2 while Var is far below 2 log n",
               random_codes),
      computed("001-s18b", Verdict::holds, "Codes that favour near keys lower the entropy",
               "for contents without structure of their own", local_codes),
      computed("001-s18c", Verdict::holds_if, "A relative bias focuses on near keys and lowers the entropy",
               "where it does not oppose what the content prefers; one-sided ALiBi then has an entropy that does not "
               "grow with n",
               bias_towards_near),
  };
}

}  // namespace isentropic::ledger::attention_entropy
