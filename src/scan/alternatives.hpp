// What if: the same model over the same text with another scale, map or mask.
//
// An attention restricted to the keys of a set S, in a row with log-partition L over all keys and L_S over those of S,
// omits the mass m, and its output o_S has an error of at most
//
//   m = 1 - e^{L_S - L},     |o - o_S| <= m diam(v) <= 2 m max|v - c|     for any c       (theory/top_k.hpp)
//
// By hand: three equal scores, one key left out: m = 1 - 2/3. Both are measured on the queries, keys and values of the
// unchanged model, so they tell what each head loses on its own, independent of errors in earlier layers.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::scan {

struct Result;

// NaN: not measured.
struct AlternativeHead {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double entropy = kNone;                     // mean over the windows' rows that see two keys or more
  std::vector<double> length_entropies = {};  // of the last tokens, one per entry of Result::lengths
  double missing_mass = kNone;                // m, mean over rows
  double error = kNone;                       // mean |o - o_S| over mean |o|
  double error_bound = kNone;                 // 2 m max|v - c| likewise; c is the mean value, or 0 with a sink
  double parameter = kNone;                   // the one that was solved for
  double target = kNone;                      // the entropy it was solved for
};

enum class AlternativeKind : std::uint8_t { scale, map, mask };
const char* name(AlternativeKind kind);

struct Alternative {
  AlternativeKind kind = AlternativeKind::scale;
  std::string text;                         // "log_n:kappa=0.9", as on the command line
  double loss = AlternativeHead::kNone;     // over the windows of Result::loss
  std::vector<double> length_losses = {};   // one per entry of Result::lengths
  std::vector<AlternativeHead> heads = {};  // as Result::heads
  std::string parameter = {};               // "kappa" if one was solved for each head
  std::int64_t solved_for = 0;              // the length whose entropies were the target
};

// Means over the heads; NaN if none was measured.
double mean_over_heads(const Alternative& alternative, double AlternativeHead::*number);
double mean_entropy_at(const Alternative& alternative, std::size_t length);

// The alternative of this kind with the lowest loss over the windows; nullptr if none has a loss.
const Alternative* best(const Result& result, AlternativeKind kind);

// One line per alternative, and the best of each kind.
std::string alternatives_text(const Result& result);

nlohmann::ordered_json json_of(const Alternative& alternative);
Alternative alternative_of(const nlohmann::ordered_json& json);  // throws nlohmann's exceptions

// For the page: the means, and the heads' numbers layer by layer.
nlohmann::ordered_json alternatives_page_data(const Result& result);

}  // namespace isentropic::scan
