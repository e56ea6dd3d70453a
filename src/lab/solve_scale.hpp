// The parameter of a scale law, head by head, with which longer texts leave the entropy where it was.
//
// For each head h the number p_h with
//
//   mean H of the last tokens at the longest length, under the law with p_h = mean H of the same tokens at the trained
//   length, as the model is,
//
// by bisection: entropies fall as the scale grows. Layers are solved in order within one forward pass, each on the
// queries and keys that the solved ones before it produce. The scale itself is sought between 2^-12 and 2^12 times
// 1 / sqrt d; a head whose target lies outside gets the nearer end.
#pragma once

#include "lab/attention_change.hpp"
#include "lab/scan_windows.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

struct SolvedScale {
  AttentionChange change;                    // the law with its numbers
  std::vector<std::vector<double>> targets;  // mean entropies, by layer and head
  std::int64_t reference = 0;                // the length that they are of
};

// The trained length, or the shortest one where all lie within it.
std::int64_t reference_length(const model::Transformer& model, const ScanOptions& options);

// The law of that name; an Error lists those that one number multiplies.
Scale law_to_solve(const std::string& name);

// Throws Error where there is nothing to solve: weights without an entropy, fewer than two lengths.
void check_solvable(const model::Transformer& model, const ScanOptions& options);

SolvedScale solve_scale(const model::Transformer& model, const ScanText& text, const ScanOptions& options,
                        const Scale& law);

// Also adds the law with its numbers to the alternatives of `result` (what_if.hpp).
SolvedScale add_solved_scale(const model::Transformer& model, const std::vector<ScanText>& texts,
                             const ScanOptions& options, const Scale& law, scan::Result* result);

// {"isentropic": {"scale": ..., "scale_values": [[...], ...]}}: the section that makes config.json say it.
std::string config_section(const SolvedScale& solved);

}  // namespace isentropic::lab
