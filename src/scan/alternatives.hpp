// What if: the same model over the same text with another scale, map or mask.
//
// An attention that keeps the keys of a set S alone, of a row with log-partition L over all of its keys and L_S over
// those of S, leaves out the mass m, and its output o_S is off by at most
//
//   m = 1 - e^{L_S - L},     |o - o_S| <= m diam(v) <= 2 m max|v - c|     for any c       (theory/top_k.hpp)
//
// By hand: three equal scores, one key left out: m = 1 - 2/3. Both are taken on the queries, keys and values of the
// model as it is, so that they tell what one head loses, whatever the layers before it lost.
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
  double entropy = kNone;                     // mean over the rows of the windows that see two keys or more
  std::vector<double> length_entropies = {};  // of the last tokens, one for each of Result::lengths
  double missing_mass = kNone;                // m, mean over rows
  double error = kNone;                       // mean |o - o_S| over mean |o|
  double error_bound = kNone;                 // 2 m max|v - c| in its place; c is the mean value, or 0 where a sink is
  double parameter = kNone;                   // that was solved for
  double target = kNone;                      // the entropy that it was solved for
};

enum class AlternativeKind : std::uint8_t { scale, map, mask };
const char* name(AlternativeKind kind);

struct Alternative {
  AlternativeKind kind = AlternativeKind::scale;
  std::string text;                         // "log_n:kappa=0.9", as the command line has it
  double loss = AlternativeHead::kNone;     // over the windows of Result::loss
  std::vector<double> length_losses = {};   // one for each of Result::lengths
  std::vector<AlternativeHead> heads = {};  // as Result::heads
  std::string parameter = {};               // "kappa": one was solved for each head
  std::int64_t solved_for = 0;              // the length whose entropies were the target
};

// Means over the heads; NaN where none was measured.
double mean_over_heads(const Alternative& alternative, double AlternativeHead::*number);
double mean_entropy_at(const Alternative& alternative, std::size_t length);

// The alternative of this kind with the least loss over the windows; nullptr where there is none with a loss.
const Alternative* best(const Result& result, AlternativeKind kind);

// A line for each, and which are the best.
std::string alternatives_text(const Result& result);

nlohmann::ordered_json json_of(const Alternative& alternative);
Alternative alternative_of(const nlohmann::ordered_json& json);  // throws as nlohmann does

// For the page: the means, and the numbers of heads layer by layer.
nlohmann::ordered_json alternatives_page_data(const Result& result);

}  // namespace isentropic::scan
