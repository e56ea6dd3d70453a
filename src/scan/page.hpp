// A scan, or two of them compared, as one HTML file that opens from disk: a map of layers x heads, a panel for each
// head, lengths, tables, rules.
//
//   io::write_file("--html", path, scan::page(result));
//
// The file is self-contained (report/document.hpp), under 3 MB for 1024 heads at 32768 tokens, 5 MB for two such
// results: at most kHeadsInFull heads have all their curves and matrices, the others an entropy curve of kShortCurve
// points.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scan/comparison.hpp"
#include "scan/result.hpp"

namespace isentropic::scan {

inline constexpr std::size_t kHeadsInFull = 64, kShortCurve = 32;

struct PageOptions {
  std::vector<std::pair<std::size_t, std::size_t>> heads = {};  // layer, head: shown in full whatever their labels
  std::size_t most_in_full = kHeadsInFull;
};

// Throw Error for a head that does not exist, and for more than kHeadsInFull.
std::string page(const Result& result, const PageOptions& options = {});
std::string page(const Comparison& comparison, const PageOptions& options = {});

// For each head, whether the page contains all of it. Requested heads come first; then those with the rarest labels,
// ordered by how far they exceed their rule's threshold; then, if there is room, heads without labels. In a comparison,
// heads whose labels changed come before these, the largest change first.
std::vector<bool> shown_in_full(const Result& result, const PageOptions& options = {});
std::vector<bool> shown_in_full(const Comparison& comparison, const PageOptions& options = {});

}  // namespace isentropic::scan
