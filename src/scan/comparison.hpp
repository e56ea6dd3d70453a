// Two scans side by side: what changed from the first to the second, head by head.
//
// Two checkpoints, a model before and after fine-tuning, two scales, two lengths: any two results with the same layers
// and heads. A difference is second - first. The change of a head is its largest absolute difference among the numbers
// that are shares in [0, 1] (terms.hpp) and its retrieval score; heads are sorted by it: 0.4 if the weight of the first
// key went from 0.1 to 0.5 and no share moved further.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scan/result.hpp"

namespace isentropic::scan {

struct HeadComparison {
  std::size_t layer = 0, head = 0;
  std::map<std::string, double> differences = {};  // of every number present in both (head_values.hpp)
  std::vector<Label> gained = {}, lost = {};       // with the second's and the first's values
  double change = 0;

  bool has_other_labels() const { return !gained.empty() || !lost.empty(); }
};

struct Comparison {
  Result first, second;
  std::string first_name, second_name;     // of the models; if these are equal, with what differs
  std::vector<HeadComparison> heads = {};  // layer by layer
  std::vector<std::size_t> changed = {};   // indices of heads whose labels differ, largest change first
};

// Throws Error, which names both shapes, unless both have the same layers with the same numbers of heads.
void require_one_shape(const Result& first, const Result& second);
Comparison compare(Result first, Result second);  // also throws
// "6 layers of 8 heads"
std::string shape_of(const Result& result);

// Three sentences: labels, loss and entropy.
std::vector<std::string> sentences(const Comparison& comparison);
// At most 25 lines.
std::string terminal_text(const Comparison& comparison);
// One line per head (tables.hpp): labels of both, and every statistic as NAME, NAME_second and NAME_difference.
std::string tsv(const Comparison& comparison);

// Both results, as written by json_of, and the differences.
nlohmann::ordered_json json_of(const Comparison& comparison);
// One result, or the two of a comparison. Throws Error, naming `place`, for JSON that neither json_of wrote.
std::vector<Result> results_from_json(const std::string& json, const std::string& place);

}  // namespace isentropic::scan
