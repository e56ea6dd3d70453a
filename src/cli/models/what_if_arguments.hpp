// The what-if options of scan: another scale, map or mask, and comparisons with theory.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/attention_change.hpp"
#include "lab/scan_windows.hpp"
#include "lab/theory_check.hpp"
#include "model/transformer.hpp"

namespace isentropic::cli {

struct WhatIfArguments {
  std::vector<std::string> scales, maps, masks;
  std::string solve;  // the law whose parameter is solved for; empty: none
  bool theory = false, calibrate = false;
  std::string noise;  // empty: none

  void offer(CLI::App* command);
  // Checks every change; an Error names the option and the problem.
  std::vector<lab::AttentionChange> changes(const model::Transformer& model) const;
  // Both are empty if not requested.
  std::optional<lab::TheoryOptions> theory_options() const;
  std::optional<Scale> law_to_solve(const model::Transformer& model, const lab::ScanOptions& options) const;
};

}  // namespace isentropic::cli
