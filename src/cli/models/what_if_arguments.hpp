// The options of scan that ask what another scale, map or mask would do.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lab/attention_change.hpp"
#include "model/transformer.hpp"

namespace isentropic::cli {

struct WhatIfArguments {
  std::vector<std::string> scales, maps, masks;

  void offer(CLI::App* command);
  // Checked; an Error names the option and what is wrong with it.
  std::vector<lab::AttentionChange> changes(const model::Transformer& model) const;
};

}  // namespace isentropic::cli
