// Measures what closed forms are compared with (scan/theory_check.hpp): the scores of sampled rows, and noise on them.
#pragma once

#include <optional>
#include <string>

#include "isentropic/theory/noise.hpp"
#include "lab/scan_windows.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

// "gaussian:0.5", "uniform:1", "laplace:0.3", "gumbel:3": family and strength. An Error says what is known.
theory::NoiseLaw noise_from_text(const std::string& text);

struct TheoryOptions {
  std::optional<theory::NoiseLaw> noise = {};
  std::string noise_text = {};
  std::int64_t rows = 16;   // of each head, evenly spaced in the second half of the window
  std::int64_t draws = 64;  // of noise
};

// Over the first window of the text; layers whose map is no softmax stay unmeasured.
void add_theory_check(const model::Transformer& model, const ScanText& text, const ScanOptions& options,
                      const TheoryOptions& asked, scan::Result* result);

}  // namespace isentropic::lab
