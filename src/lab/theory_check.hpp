// Measurements to compare with closed forms (scan/theory_check.hpp): the scores of sampled rows, and noise on them.
#pragma once

#include <optional>
#include <string>

#include "isentropic/theory/noise.hpp"
#include "lab/scan_windows.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

// "gaussian:0.5", "uniform:1", "laplace:0.3", "gumbel:3": family and strength. An Error lists the accepted forms.
theory::NoiseLaw noise_from_text(const std::string& text);

struct TheoryOptions {
  std::optional<theory::NoiseLaw> noise = {};
  std::string noise_text = {};
  bool calibrate = false;
  std::int64_t rows = 16;   // of each head, evenly spaced in the second half of the window
  std::int64_t draws = 64;  // of noise
};

// The rows of a window whose token has occurred before, at most `most` of them, evenly spaced, and for each the key
// after the latest earlier occurrence; rows whose match would be their own key are left out.
struct Matches {
  std::vector<std::int64_t> rows, keys;
};
Matches matches_of(const std::vector<std::int32_t>& ids, std::int64_t most);

// weights [heads, rows, n] of these rows, is_seen [rows, n]; fills in the match fields of `heads`. Rows that do not see
// their match do not count.
void add_calibration(const at::Tensor& weights, const at::Tensor& is_seen, const Matches& matches,
                     std::vector<scan::TheoryHead>& heads);

// Measures the first window of the text; layers whose map is not softmax stay unmeasured.
void add_theory_check(const model::Transformer& model, const ScanText& text, const ScanOptions& options,
                      const TheoryOptions& asked, scan::Result* result);

}  // namespace isentropic::lab
