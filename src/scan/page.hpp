// A scan as one HTML file that opens from disk: a map of layers x heads, a panel for each head, lengths, tables, rules.
//
//   io::write_file("--html", path, scan::page(result));
//
// Everything is inside (report/document.hpp), under 3 MB for 1024 heads at 32768 tokens: at most kHeadsInFull heads
// carry all their curves and matrices, the others an entropy curve of kShortCurve points.
#pragma once

#include <string>
#include <vector>

#include "scan/result.hpp"

namespace isentropic::scan {

std::string page(const Result& result);

inline constexpr std::size_t kHeadsInFull = 64, kShortCurve = 32;

// For each head whether the page holds all of it: those with the rarest labels first, among them those that meet their
// rule by the most; then heads without labels, while there is room.
std::vector<bool> shown_in_full(const Result& result);

}  // namespace isentropic::scan
