// Sections 19 to 22: masks, cross attention, heads, keys in blocks.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

void sparse_rows(Check& check) {
  const std::size_t n = 60, d = 8;
  const Table q = normal_table(check.random(), n, d), k = normal_table(check.random(), n, d),
              v = normal_table(check.random(), n, 2);
  std::int64_t above = 0, miscounted = 0;
  double uniform = 0;
  for (const Mask& mask : {Mask::causal().window(16), Mask::none().strided(7, 3), Mask::none().segments(12)}) {
    const AttentionResult rows = attend(q, k, v, {.query = {}, .key = {}, .mask = mask, .scale = Scale::constant(2.0)});
    const AttentionResult flat = attend(q, k, v, {.query = {}, .key = {}, .mask = mask, .scale = Scale::constant(0.0)});
    const Table weights = weights_of(q, k, {.query = {}, .key = {}, .mask = mask});
    for (std::size_t i = 0; i < n; ++i) {
      const double visible = static_cast<double>(rows.rows.record(i).k);
      std::int64_t seen = 0;
      for (const double w : weights.row(i)) seen += w > 0;
      miscounted += seen != rows.rows.record(i).k;
      above += entropy(rows.rows.record(i)) > std::log(visible) + 1e-12;
      uniform = std::max(uniform, std::abs(entropy(flat.rows.record(i)) - std::log(visible)));
    }
  }
  check.never("rows whose H exceeds the log of the keys they see", above);
  check.never("rows with weight on a masked key", miscounted);
  check.near("H of equal scores less log of the visible keys", uniform, 0, 1e-12);
}

// kappa = 5.68 at d = 64: the row's own length versus that of the whole context.
void visible_count(Check& check) {
  const double kappa = 5.68;
  const std::vector<std::int64_t> rows = check.thorough() ? std::vector<std::int64_t>{16, 64, 256, 1024, 4096}
                                                          : std::vector<std::int64_t>{16, 64, 256, 1024};
  const Scale own = Scale::log_n(kappa), global = Scale::frozen(kappa, 4096);
  const std::vector<Curve> curves = draw_curves(check, {own, global}, rows, 64, check.effort(240, 1600));
  compare_with_theory(check, "the row's own log i", curves[0], own, 64);
  compare_with_theory(check, "one log n for all rows", curves[1], global, 64);
  const auto range = [&](const Scale& scale, std::vector<std::int64_t> lengths) {
    double least = 1e9, most = 0;
    for (const std::int64_t n : lengths) {
      const double h = law_entropy(scale, n, 64);
      least = std::min(least, h), most = std::max(most, h);
    }
    return most - least;
  };
  const std::vector<std::int64_t> all = {16, 64, 256, 1024, 4096};
  const std::vector<double> own_quoted = {1.65, 1.87, 1.98, 1.90, 1.89}, global_quoted = {0.59, 0.89, 1.20, 1.51, 1.84};
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Quoted from 400 draws of rows whose entropies deviate by at most 0.8.
    const double error = 0.8 / std::sqrt(400.0);
    check.near(fmt::format("expected H with the row's own log i, i = {}, quoted", all[i]), law_entropy(own, all[i], 64),
               own_quoted[i], 4 * error);
    check.near(fmt::format("expected H with one log n, i = {}, quoted", all[i]), law_entropy(global, all[i], 64),
               global_quoted[i], 4 * error);
  }
  check.at_most("range of H over rows 16 ... 4096, the row's own log i", range(own, all), 0.4);
  check.at_least("the same with one log n for all rows", range(global, all), 1);
  check.plot({"Causal rows, d = 64, kappa = 5.68",
              "keys the row sees",
              "H (nats)",
              report::PlotScale::log,
              {},
              {{"log of the row's keys", curves[0].x(), curves[0].y()},
               {"log of the context", curves[1].x(), curves[1].y()}}});
  // The kernel scales causal row i by its own length.
  const Table x = directions(check.random(), 40, 64, 8);
  const AttentionResult causal = attend(x, x, x, {.query = {}, .key = {}, .mask = Mask::causal(), .scale = own});
  double worst = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    const Table query(1, 64, {x.row(i).begin(), x.row(i).end()});
    const Table seen(i + 1, 64, {x.values.begin(), x.values.begin() + static_cast<std::ptrdiff_t>(64 * (i + 1))});
    const Record alone = attend(query, seen, seen, {.query = {}, .key = {}, .scale = own}).rows.record(0);
    worst = std::max(worst, std::abs(entropy(alone) - entropy(causal.rows.record(i))));
  }
  check.near("H of causal rows less H of the same rows alone", worst, 0, 1e-12);
  check.near("one visible key: lambda", causal.rows.scale(0), 0, 0);
  check.near("one visible key: H", entropy(causal.rows.record(0)), 0, 0);
  check.near("one visible key: output less its value", difference(table_of(causal.output).row(0), x.row(0)), 0, 1e-14);
}

void cross_attention(Check& check) {
  const Table q = normal_table(check.random(), 5, 16), k = normal_table(check.random(), 9, 16),
              v = normal_table(check.random(), 9, 3);
  const AttentionResult result = attend(q, k, v, {.query = {}, .key = {}, .scale = Scale::log_n(1.0)});
  double most = 0, lambda = 0;
  for (std::size_t i = 0; i < q.rows; ++i) {
    lambda = std::max(lambda, std::abs(result.rows.scale(i) - std::log(9.0) / 16));
    most = std::max(most, entropy(result.rows.record(i)));
  }
  check.near("lambda less log(n_k)/d, 5 queries and 9 keys", lambda, 0, 1e-15);
  check.at_most("largest H", most, std::log(9.0));
  check.near("rows of output", static_cast<double>(result.output.shape()[2]), 5, 0);
}

void scale_of_heads(Check& check) {
  const std::int64_t h = 8, n = 30, d_head = 16, d = h * d_head;
  const std::vector<double> x = check.random().normals(static_cast<std::size_t>(n * d));
  // Views rows of d numbers as [1, h, n, d_head].
  const View heads(x.data(), {1, h, n, d_head}, {n * d, d_head, d, 1});
  const AttentionResult all = attention(
      {.query = heads, .key = heads, .value = heads, .scale = Scale::log_n(1.3), .executor = &serial_executor()});
  double lambda = 0, output = 0;
  for (std::int64_t i = 0; i < h; ++i) {
    lambda = std::max(
        lambda, std::abs(all.rows.scale(static_cast<std::size_t>(i * n)) -
                         1.3 * static_cast<double>(h) * std::log(static_cast<double>(n)) / static_cast<double>(d)));
    const View one = heads.slice(1, i, i + 1);
    const std::vector<double> alone =
        attention({.query = one, .key = one, .value = one, .scale = Scale::log_n(1.3), .executor = &serial_executor()})
            .output.to_doubles();
    const std::vector<double> together = all.output.to_doubles();
    output = std::max(
        output, difference(alone, std::span(together).subspan(static_cast<std::size_t>(i * n * d_head), alone.size())));
  }
  check.near("lambda of a head less kappa h log n/d", lambda, 0, 1e-15);
  check.near("heads together less heads alone", output, 0, 1e-14);
}

void logits_of_heads(Check& check) {
  const std::size_t d = 512, n = 256;
  std::vector<double> deviation;
  struct Quoted {
    int heads;
    double entropy, deviation;
  };
  for (const auto& [h, quoted, spread] : {Quoted{1, 5.515, 0.245}, {8, 5.308, 0.695}, {32, 4.713, 1.385}}) {
    const std::size_t d_head = d / static_cast<std::size_t>(h);
    const double norm = std::sqrt(static_cast<double>(d_head)), lambda = std::log(n) / static_cast<double>(d_head);
    Mean logit, entropies;
    for (std::int64_t set = 0; set < check.effort(1, 10); ++set) {
      const Table q = directions(check.random(), n, d_head, norm), k = directions(check.random(), n, d_head, norm);
      for (const Record& r :
           attend(q, k, Table(n, 1, 0.0), {.query = {}, .key = {}, .scale = Scale::log_n()}).rows.records())
        entropies.add(entropy(r));
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; j += 4) {
          double s = 0;
          for (std::size_t t = 0; t < d_head; ++t) s += q(i, t) * k(j, t);
          logit.add(lambda * s);
        }
    }
    deviation.push_back(logit.deviation());
    check.near(fmt::format("H, {} heads", h), entropies.mean(), quoted, 0.03);
    check.relative(fmt::format("deviation of the logits, {} heads", h), logit.deviation(), spread, 0.03);
    check.relative(fmt::format("deviation of the logits against log n/sqrt(d_h), {} heads", h), logit.deviation(),
                   std::log(n) / norm, 0.02);
    // A key equal to the query.
    const Table query = directions(check.random(), 1, d_head, norm);
    Table key = directions(check.random(), n, d_head, norm);
    std::copy(query.values.begin(), query.values.end(), key.row(5).begin());
    check.near(fmt::format("largest attainable logit, {} heads", h),
               attend(query, key, Table(n, 1, 0.0), {.query = {}, .key = {}, .scale = Scale::log_n()}).rows.record(0).m,
               std::log(n), 1e-10);
  }
  check.relative("deviation of the logits, 8 heads against 1", deviation[1] / deviation[0],
                 check.choose(std::sqrt(8.0), 8.0), 0.05);
  check.relative("deviation of the logits, 32 heads against 1", deviation[2] / deviation[0],
                 check.choose(std::sqrt(32.0), 32.0), 0.05);
}

void keys_in_blocks(Check& check) {
  const std::int64_t n_k = 70, block = 16;
  const Table q = normal_table(check.random(), 33, 16, 3), k = normal_table(check.random(), 70, 16, 3),
              v = normal_table(check.random(), 70, 5);
  for (const bool causal : {false, true}) {
    AttentionProblem whole{.query = view_of(q),
                           .key = view_of(k),
                           .value = view_of(v),
                           .mask = causal ? Mask::causal(Align::end) : Mask::none(),
                           .scale = Scale::log_n(),
                           .statistics = Statistics::all(),
                           .executor = &serial_executor()};
    const AttentionResult dense = attention(whole);
    Partial merged;
    for (std::int64_t first = 0; first < n_k; first += block) {
      AttentionProblem part = whole;
      part.key = whole.key.slice(2, first, std::min(first + block, n_k));
      part.value = whole.value.slice(2, first, std::min(first + block, n_k));
      part.shard = {.key_runs = {Run{first}}, .total_keys = n_k};
      const Partial piece = attention_partial(part);
      merged = first == 0 ? piece : merge(merged, piece);
    }
    const AttentionResult online = finish(merged, whole);
    const char* name = causal ? "causal, scale per row" : "full";
    check.near(fmt::format("output in blocks less at once, {}", name),
               difference(online.output.to_doubles(), dense.output.to_doubles()), 0, 1e-12);
    check.near(fmt::format("H in blocks less at once, {}", name),
               difference(online.statistics.entropy.to_doubles(), dense.statistics.entropy.to_doubles()), 0, 1e-12);
  }
}

}  // namespace

std::vector<Claim> mask_claims() {
  using enum Verdict;
  return {
      computed("003-49,50", holds, "Masked keys get no weight, and the largest entropy is the log of the visible ones",
               "", sparse_rows),
      computed("003-51", holds, "The scale of a row uses the number of keys it can see",
               "a consistent choice; one visible key gives lambda = 0, which is harmless", visible_count),
      computed("003-52,53", holds, "Cross attention: n is the number of keys, not of queries", "", cross_attention),
      computed("003-54,55,56", holds, "With h heads of dimension d/h the scale is kappa h log n/d", "", scale_of_heads),
      computed("003-s21", holds_if, "More heads amount to a scale h times as large",
               "if said of lambda: the attainable logit stays log n, and random logits grow by sqrt h",
               logits_of_heads),
      computed("003-s22", holds, "Attention in blocks of keys needs nothing but the other scale",
               "a scale per row where rows see different numbers of keys; H accumulates alongside", keys_in_blocks),
  };
}

}  // namespace isentropic::ledger::invariance
