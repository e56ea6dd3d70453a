// Solves for the parameter of a scale law, head by head, that keeps the entropy on longer texts unchanged.
//
// For each head h, the parameter p_h at which
//
//   mean H of the last tokens at the longest length, under the law with p_h
//     = mean H of the same tokens at the reference length (reference_length()), in the unchanged model,
//
// found by bisection: entropies fall as the scale grows. Layers are solved in order within one forward pass, each on
// the queries and keys that the solved layers before it produce. The scale itself is sought between 2^-12 and 2^12
// times 1 / sqrt d; a head whose target is outside gets the nearer end.
#pragma once

#include "lab/attention_change.hpp"
#include "lab/scan_windows.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

struct SolvedScale {
  AttentionChange change;                    // the law with its solved parameters
  std::vector<std::vector<double>> targets;  // mean entropies, by layer and head
  std::int64_t reference = 0;                // the length at which they were measured
};

// The trained length, or the shortest of the lengths if none is longer than that.
std::int64_t reference_length(const model::Transformer& model, const ScanOptions& options);

// The law of that name; an Error lists the laws with a single parameter, a learnable factor.
Scale law_to_solve(const std::string& name);

// Throws Error if there is nothing to solve: weights without an entropy, or fewer than two lengths.
void check_solvable(const model::Transformer& model, const ScanOptions& options);

SolvedScale solve_scale(const model::Transformer& model, const ScanText& text, const ScanOptions& options,
                        const Scale& law);

// Also adds the law with its solved parameters to the alternatives of `result` (what_if.hpp).
SolvedScale add_solved_scale(const model::Transformer& model, const std::vector<ScanText>& texts,
                             const ScanOptions& options, const Scale& law, scan::Result* result);

// {"isentropic": {"scale": ..., "scale_values": [[...], ...]}}: the section of config.json that sets the solved law.
std::string config_section(const SolvedScale& solved);

}  // namespace isentropic::lab
