// What a head does, in a word: rules with thresholds of our own, each with the number it tests.
//
//   previous_token   mean weight of the token before                                     >= 0.5
//   retrieval        mean weight of the tokens that followed earlier occurrences of the
//                    row's token, beyond what chance gives: (p - c) / (1 - c),
//                    c the share of such keys                                             >= 0.2
//   sink             the largest mean weight of one key over the rows that see it,
//                    of keys that a quarter of the rows see                               >= 0.3
//   local            mean weight of the last 16 keys, in rows that see 64 or more         >= 0.8
//   dispersed        mean H / log k                                                       >= 0.95
//   collapsed        mean entropy without the first key, in nats                          <= 0.3
//   redundant        similarity 1 - JS / log 2 to another head                            >= 0.95
//   dispersing       slope dH / dlog n over the lengths, of layers without a window       >= 0.9
//   large_scores     largest score                                                        >= 100
//
// collapsed is omitted for a head that one of the first three describes, redundant for sinks and dispersed heads (they
// all look alike), local for previous_token.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace isentropic::scan {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct Rule {
  std::string label;
  std::string meaning;   // one sentence
  std::string quantity;  // what is compared
  double threshold;
  bool at_least;  // otherwise at most
};

// In the order in which labels are assigned.
const std::vector<Rule>& rules();
const Rule& rule(const std::string& label);

struct Label {
  std::string name;
  double value = 0;
  std::string detail = {};  // "key 0", "head 3.1"; may be empty
};

// The numbers that the rules test. A rule does not apply if its number was not measured.
struct Evidence {
  double previous = kNotMeasured, retrieval = kNotMeasured, sink = kNotMeasured, local = kNotMeasured;
  double normalised_entropy = kNotMeasured, entropy_without_first = kNotMeasured;
  double similarity = kNotMeasured, slope = kNotMeasured, largest_score = kNotMeasured;
  std::string sink_key = {}, similar_head = {};  // details
};

std::vector<Label> labels(const Evidence& evidence);
bool has(const std::vector<Label>& labels, const std::string& name);

}  // namespace isentropic::scan
