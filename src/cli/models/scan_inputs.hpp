// The inputs of isentropic scan, read and checked before anything runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/models/commands.hpp"
#include "cli/models/what_if_arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "lab/attention_change.hpp"
#include "lab/scan_model.hpp"
#include "lab/theory_check.hpp"
#include "model/transformer.hpp"
#include "scan/page.hpp"
#include "scan/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace isentropic::cli {

struct ScanArguments {
  ModelArguments model;
  std::vector<std::string> texts;
  std::string ids;
  std::string against;  // a second model, or a saved scan
  std::vector<std::string> lengths, heads;
  std::int64_t length = 0;
  bool fast = false, allow_beyond = false, per_row = false;
  WhatIfArguments what_if;
  Outputs outputs;
};

// A model and the texts that it reads.
struct ScanInputs {
  ScanInputs(const ScanArguments& arguments, const std::string& folder);

  // Checks the lengths and everything requested besides the scan itself.
  void check(const ScanArguments& arguments);
  std::int64_t longest() const;
  // The part of the result that is known before anything runs: the layers and heads.
  scan::Result shape() const;
  // What is known of the model and the scan, with the tokens of the first window; without layers.
  scan::Result about() const;

  std::string path;
  model::Transformer model;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  lab::ScanOptions options;
  std::vector<lab::ScanText> texts;
  std::vector<lab::AttentionChange> changes;
  std::optional<Scale> law_to_solve;
  std::optional<lab::TheoryOptions> theory;

 private:
  std::int64_t usual_length() const;  // the trained length, or the shortest text's if that is shorter
};

// A model to run, or the results of saved scans.
struct ScanSource {
  std::unique_ptr<ScanInputs> inputs;
  std::vector<scan::Result> found;  // two for a comparison

  scan::Result shape() const;
};

// Whether the path names a scan saved with --json: a .json file that is not a folder.
bool is_scan_file(const std::string& path);
// Reads --heads.
scan::PageOptions page_options(const ScanArguments& arguments);
// Opens MODEL and --against. Inputs are not trusted: any mistake in them is a UsageError.
std::vector<ScanSource> read_sources(const ScanArguments& arguments);

}  // namespace isentropic::cli
