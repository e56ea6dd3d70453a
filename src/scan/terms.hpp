// What the numbers of a scan mean: a title, a sentence and a range for each statistic, for pages and terminals.
#pragma once

#include <string>
#include <vector>

namespace isentropic::scan {

struct Term {
  std::string name;      // "normalised_entropy", as in HeadResult::statistics
  std::string title;     // "normalised entropy"
  std::string unit;      // "nats", "keys"; empty: a plain number
  std::string meaning;   // one sentence
  bool is_share;         // in [0, 1], whatever the model
  bool is_heavy_tailed;  // better seen on a logarithmic scale
};

// Two that are not statistics of rows: what the nearest head and the lengths say about a head.
inline constexpr const char* kSimilarity = "nearest_similarity";
inline constexpr const char* kSlope = "entropy_slope";

// The statistics of heads, the most telling first, then kSimilarity and kSlope.
const std::vector<Term>& terms();
// A statistic that has no entry goes by its name.
Term term(const std::string& name);

// Numbers of the text, of layers and of lengths: name and sentence.
struct Definition {
  std::string name, meaning;
};
const std::vector<Definition>& definitions();

}  // namespace isentropic::scan
