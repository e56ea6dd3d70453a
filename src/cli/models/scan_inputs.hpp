// What isentropic scan is given, read and checked before anything runs.
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
  std::string against;  // a second model, or scan
  std::vector<std::string> lengths, heads;
  std::int64_t length = 0;
  bool fast = false, allow_beyond = false, per_row = false;
  WhatIfArguments what_if;
  Outputs outputs;
};

// A model and the texts that it reads.
struct ScanInputs {
  ScanInputs(const ScanArguments& arguments, const std::string& folder);

  // Of lengths and of what is asked for beside the scan.
  void check(const ScanArguments& arguments);
  std::int64_t longest() const;
  // What of the result is known before anything runs: its layers and heads.
  scan::Result shape() const;
  // And with the tokens of the first window.
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
  std::int64_t usual_length() const;  // the trained one, or that of the shortest text
};

// A model that is going to run, or what earlier scans found.
struct ScanSource {
  std::unique_ptr<ScanInputs> inputs;
  std::vector<scan::Result> found;  // two of a comparison

  scan::Result shape() const;
};

// A file that --json wrote, by its name.
bool is_scan_file(const std::string& path);
// --heads
scan::PageOptions page_options(const ScanArguments& arguments);
// MODEL and --against. Nothing of it is trusted: a mistake is a UsageError.
std::vector<ScanSource> read_sources(const ScanArguments& arguments);

}  // namespace isentropic::cli
