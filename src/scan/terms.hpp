// The meaning of a scan's numbers: a title, a sentence and a range for each statistic, for pages and terminals.
#pragma once

#include <string>
#include <vector>

namespace isentropic::scan {

struct Term {
  std::string name;      // "normalised_entropy", as in HeadResult::statistics
  std::string title;     // "normalised entropy"
  std::string unit;      // "nats", "keys"; empty: a plain number
  std::string meaning;   // one sentence
  bool is_share;         // always in [0, 1]
  bool is_heavy_tailed;  // best shown on a logarithmic scale
};

// Two numbers that are not statistics of rows: from the nearest head and from the lengths.
inline constexpr const char* kSimilarity = "nearest_similarity";
inline constexpr const char* kSlope = "entropy_slope";

// The statistics of heads, the most informative first, then kSimilarity and kSlope.
const std::vector<Term>& terms();
// A statistic without an entry is titled by its name.
Term term(const std::string& name);

// Numbers describing the text, layers and lengths: name and sentence.
struct Definition {
  std::string name, meaning;
};
const std::vector<Definition>& definitions();

}  // namespace isentropic::scan
