// The rules.
#include "scan/labels.hpp"

#include <algorithm>

#include "isentropic/error.hpp"

namespace isentropic::scan {
namespace {

// NaN meets no rule.
void judge(const char* name, double value, const std::string& detail, std::vector<Label>* out) {
  const Rule& given = rule(name);
  if (given.at_least ? value >= given.threshold : value <= given.threshold) out->push_back({name, value, detail});
}

}  // namespace

bool has(const std::vector<Label>& labels, const std::string& name) {
  return std::ranges::find(labels, name, &Label::name) != labels.end();
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {"previous_token", "It looks at the token before.", "mean weight of the token before", 0.5, true},
      {"retrieval", "It looks at what followed earlier occurrences of the token: it can copy.",
       "mean weight of the tokens after earlier occurrences, beyond chance", 0.2, true},
      {"sink", "Much of its weight rests on one key, whatever the query.",
       "largest mean weight of a key over the rows that see it", 0.3, true},
      {"local", "It looks at the last few tokens.", "mean weight of the last 16 keys", 0.8, true},
      {"dispersed", "It spreads its weight over all keys, almost evenly.", "mean H / log k", 0.95, true},
      {"collapsed", "Beside the first key it looks at one key alone.", "mean entropy without the first key, nats", 0.3,
       false},
      {"redundant", "Another head has the same weights.", "similarity 1 - JS / log 2", 0.95, true},
      {"dispersing", "Its entropy grows with the context as if it looked everywhere.", "slope dH / dlog n", 0.9, true},
      {"large_scores", "Its scores are so large that training may become unstable.", "largest score", 100, true},
  };
  return table;
}

const Rule& rule(const std::string& label) {
  const auto found = std::ranges::find(rules(), label, &Rule::label);
  if (found == rules().end()) throw Error("label", "'" + label + "'", "one of the rules'");
  return *found;
}

std::vector<Label> labels(const Evidence& evidence) {
  std::vector<Label> out;
  judge("previous_token", evidence.previous, "", &out);
  judge("retrieval", evidence.retrieval, "", &out);
  judge("sink", evidence.sink, evidence.sink_key, &out);
  const bool is_explained = !out.empty();
  if (!has(out, "previous_token")) judge("local", evidence.local, "", &out);
  judge("dispersed", evidence.normalised_entropy, "", &out);
  if (!is_explained) judge("collapsed", evidence.entropy_without_first, "", &out);
  if (!has(out, "sink") && !has(out, "dispersed")) judge("redundant", evidence.similarity, evidence.similar_head, &out);
  judge("dispersing", evidence.slope, "", &out);
  judge("large_scores", evidence.largest_score, "", &out);
  return out;
}

}  // namespace isentropic::scan
