// isentropic scan: how the heads of a model attend over a text.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/models/commands.hpp"
#include "cli/models/what_if_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "lab/corpus.hpp"
#include "lab/scan_model.hpp"
#include "lab/solve_scale.hpp"
#include "lab/what_if.hpp"
#include "lab/words.hpp"
#include "scan/arrays.hpp"
#include "scan/comparison.hpp"
#include "scan/page.hpp"
#include "scan/tables.hpp"
#include "scan/terminal.hpp"

namespace isentropic::cli {
namespace {

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

// A JSON list of token ids.
std::vector<std::int32_t> read_ids(const std::string& path, std::int64_t vocabulary) {
  std::vector<std::int32_t> out;
  const nlohmann::json json = nlohmann::json::parse(lab::read_text(path), nullptr, false);
  if (!json.is_array()) throw Error(path, "not a JSON list", "a list of token ids, as [1, 306, 29871]");
  for (const nlohmann::json& id : json) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary)
      throw Error(path, "a list with " + id.dump(), "integers from 0 to " + std::to_string(vocabulary - 1));
    out.push_back(id);
  }
  return out;
}

// What the tokenizer puts before and after a text.
void take_special_tokens(const tokenizer::Tokenizer& tokenizer, const std::string& text, lab::ScanOptions* options) {
  const std::string sample = text.substr(0, text.find_first_of(" \n", 1));
  const std::vector<std::int32_t> plain = tokenizer.encode(sample, false), full = tokenizer.encode(sample, true);
  const auto place = std::ranges::search(full, plain);
  if (plain.empty() || place.empty()) return;
  options->prefix.assign(full.begin(), place.begin());
  options->suffix.assign(place.end(), full.end());
}

std::vector<lab::ScanText> read_texts(const ScanArguments& arguments, const tokenizer::Tokenizer* tokenizer,
                                      std::int64_t vocabulary, lab::ScanOptions* options) {
  if (!arguments.ids.empty()) return {{arguments.ids, read_ids(arguments.ids, vocabulary)}};
  std::vector<lab::ScanText> out;
  for (const std::string& path : arguments.texts) {
    const std::string text = lab::read_text(path);
    if (out.empty()) take_special_tokens(*tokenizer, text, options);
    out.push_back({path, tokenizer->encode(text, false)});
  }
  return out;
}

// LAYER.HEAD, both from 0.
scan::PageOptions page_options(const ScanArguments& arguments) {
  scan::PageOptions out;
  for (const std::string& text : arguments.heads) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos) throw UsageError("--heads", "'" + text + "'", "LAYER.HEAD, as 3.1, both from 0");
    const auto part = [&](const std::string& number) {
      return static_cast<std::size_t>(parse_integer("--heads", number, 0, 1 << 20));
    };
    out.heads.emplace_back(part(text.substr(0, dot)), part(text.substr(dot + 1)));
  }
  return out;
}

scan::Result about(const std::string& path, const model::Transformer& model, const lab::ScanOptions& options) {
  scan::Result out;
  out.model = path;
  out.family = model.description().family;
  out.scale = lab::text_of(model.description().scale);
  out.map = lab::text_of(model.description().map);
  for (const auto& item : model.parameters()) out.parameters += item.value().numel();
  out.trained_length = model.description().trained_length;
  out.length = options.length;
  return out;
}

// Everything that the scan reads, checked.
struct Inputs {
  Inputs(const ScanArguments& arguments, const std::string& folder)
      : path(folder), model(model::open_model(folder, arguments.model.options())) {
    if (arguments.ids.empty()) tokenizer = std::make_unique<tokenizer::Tokenizer>(tokenizer::Tokenizer::read(folder));
    options.key_mass = !arguments.fast;
    options.keep_rows = arguments.per_row;
    for (const std::string& length : arguments.lengths)
      options.lengths.push_back(parse_integer("--lengths", length, 16, std::int64_t{1} << 24));
    std::ranges::sort(options.lengths);
    texts = read_texts(arguments, tokenizer.get(), model.description().vocabulary, &options);
    options.length = arguments.length > 0 ? arguments.length : usual_length();
  }

  void check(const ScanArguments& arguments) {
    lab::check_lengths(texts, options);
    if (longest() > model.description().trained_length && !arguments.allow_beyond)
      throw UsageError(options.length == longest() ? "--length" : "--lengths", std::to_string(longest()),
                       "at most " + std::to_string(model.description().trained_length) +
                           ", the model's positions (--allow-beyond: more)");
    changes = arguments.what_if.changes(model);
    theory = arguments.what_if.theory_options();
    law_to_solve = arguments.what_if.law_to_solve(model, options);
    if (arguments.outputs.asks_for("--write-kappa") && !law_to_solve)
      throw UsageError("--write-kappa", "given alone", "--solve-kappa with it");
  }

  std::int64_t longest() const {
    return std::max(options.length, options.lengths.empty() ? 0 : options.lengths.back());
  }

  // What of the result is known before anything runs: its layers and heads.
  scan::Result shape() const {
    scan::Result out;
    out.model = path;
    for (std::size_t layer = 0; layer < model.description().layers.size(); ++layer) {
      out.layers.emplace_back();
      out.layers.back().description.heads = model.description().heads;
    }
    return out;
  }

  std::string path;
  model::Transformer model;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  lab::ScanOptions options;
  std::vector<lab::ScanText> texts;
  std::vector<lab::AttentionChange> changes;
  std::optional<Scale> law_to_solve;
  std::optional<lab::TheoryOptions> theory;

 private:
  // The trained length, or that of the shortest text.
  std::int64_t usual_length() const {
    std::int64_t out = model.description().trained_length;
    for (const lab::ScanText& text : texts)
      out = std::min(out, static_cast<std::int64_t>(text.ids.size()) + lab::tokens_around(options));
    return out;
  }
};

bool is_scan_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::path(path).extension() == ".json" && !std::filesystem::is_directory(path, ignored);
}

// A model that is going to run, or what earlier scans found.
struct Source {
  std::unique_ptr<Inputs> inputs;
  std::vector<scan::Result> found;  // two of a comparison

  scan::Result shape() const {
    if (inputs) return inputs->shape();
    scan::Result out = found.front();
    out.heads.clear();
    return out;
  }
};

void check_heads(const scan::Result& shape, const scan::PageOptions& options) {
  for (const auto& [layer, head] : options.heads)
    if (layer >= shape.layers.size() || head >= static_cast<std::size_t>(shape.layers[layer].description.heads))
      throw UsageError("--heads", std::to_string(layer) + "." + std::to_string(head),
                       "LAYER.HEAD, both from 0, of " + scan::shape_of(shape));
}

std::vector<Source> open_sources(const ScanArguments& arguments) {
  std::vector<Source> out;
  for (const std::string& path : {arguments.model.path, arguments.against}) {
    if (path.empty()) continue;
    Source& source = out.emplace_back();
    if (is_scan_file(path))
      source.found = scan::results_from_json(lab::read_text(path), path);
    else
      source.inputs = std::make_unique<Inputs>(arguments, path);
  }
  if (out.size() == 2)
    for (const Source& source : out)
      if (source.found.size() == 2) throw UsageError("--against", arguments.against, "nothing: one is a comparison");
  // Two models read windows of one length.
  if (out.size() == 2 && out[0].inputs && out[1].inputs)
    for (Source& source : out)
      source.inputs->options.length = std::min(out[0].inputs->options.length, out[1].inputs->options.length);
  for (const Source& source : out)
    if (source.inputs) source.inputs->check(arguments);
  if (out.size() == 2) scan::require_one_shape(out[0].shape(), out[1].shape());
  check_heads(out[0].shape(), page_options(arguments));
  return out;
}

// Nothing of what a scan is given is trusted: a mistake in it is the caller's.
std::vector<Source> read_sources(const ScanArguments& arguments) try {
  return open_sources(arguments);
} catch (const UsageError&) {
  throw;
} catch (const Error& error) {
  throw UsageError(error.what());
}

// Returns the config section of a scale that was solved.
std::string add_alternatives(Inputs& inputs, scan::Result* found) {
  const auto memory = static_cast<std::size_t>(lab::scan_memory(inputs.model.description(), inputs.longest()));
  if (inputs.theory) lab::add_theory_check(inputs.model, inputs.texts.front(), inputs.options, *inputs.theory, found);
  if (!inputs.changes.empty()) {
    Progress line("what if", memory);
    inputs.options.progress = [&](double share) { line.show(share); };
    lab::add_alternatives(inputs.model, inputs.texts, inputs.options, inputs.changes, found);
  }
  if (!inputs.law_to_solve) return "";
  Progress line("solve", memory * static_cast<std::size_t>(lab::length_windows(inputs.texts.front(), inputs.options)));
  inputs.options.progress = [&](double share) { line.show(share); };
  return lab::config_section(
      lab::add_solved_scale(inputs.model, inputs.texts, inputs.options, *inputs.law_to_solve, found));
}

struct Scanned {
  scan::Result result;
  std::string solved_scale;  // the config section, empty if none was solved
};

Scanned run_scan(Inputs& inputs) {
  scan::Result known = about(inputs.path, inputs.model, inputs.options);
  if (inputs.tokenizer)
    for (const std::int32_t id : lab::window_of(inputs.texts.front(), 0, inputs.options.length, inputs.options))
      known.tokens_of_window.push_back(inputs.tokenizer->decode(std::span(&id, 1)));
  Scanned out;
  {
    Progress line("scan", static_cast<std::size_t>(lab::scan_memory(inputs.model.description(), inputs.longest())));
    inputs.options.progress = [&](double share) { line.show(share); };
    out.result = lab::scan_model(inputs.model, std::move(known), inputs.texts, inputs.options);
  }
  out.solved_scale = add_alternatives(inputs, &out.result);
  return out;
}

void write_result(const ScanArguments& arguments, const scan::Result& found, const std::string& solved_scale) {
  arguments.outputs.write({[&] { return scan::terminal_text(found); },
                           [&] { return scan::json_of(found); },
                           {},
                           [&] { return scan::page(found, page_options(arguments)); },
                           {[&] { return scan::tsv(found); }, [&] { return scan::npz(found); },
                            [&] { return scan::retrieval_scores(found); }, [&] { return solved_scale; }}});
}

// Arrays, scores and a solved scale are those of the second.
void write_comparison(const ScanArguments& arguments, scan::Result first, scan::Result second,
                      const std::string& solved_scale) {
  const scan::Comparison found = scan::compare(std::move(first), std::move(second));
  arguments.outputs.write({[&] { return scan::terminal_text(found); },
                           [&] { return scan::json_of(found); },
                           {},
                           [&] { return scan::page(found, page_options(arguments)); },
                           {[&] { return scan::tsv(found); }, [&] { return scan::npz(found.second); },
                            [&] { return scan::retrieval_scores(found.second); }, [&] { return solved_scale; }}});
}

void run(const ScanArguments& arguments) {
  std::vector<std::string> files = arguments.texts;
  if (!arguments.ids.empty()) files.push_back(arguments.ids);
  bool runs_a_model = false;
  for (const std::string& path : {arguments.model.path, arguments.against}) {
    if (path.empty()) continue;
    runs_a_model |= !is_scan_file(path);
    if (is_scan_file(path)) files.push_back(path);
  }
  if (runs_a_model && arguments.texts.empty() == arguments.ids.empty())
    throw UsageError("--text", "none", "a text, or --ids");
  if (!runs_a_model && !(arguments.texts.empty() && arguments.ids.empty()))
    throw UsageError("--text", "given", "none, because no model runs");
  arguments.outputs.check(files);
  std::vector<scan::Result> found;
  std::string solved_scale;
  for (Source& source : read_sources(arguments)) {
    if (source.inputs) {
      Scanned scanned = run_scan(*source.inputs);
      source.found.push_back(std::move(scanned.result));
      solved_scale = std::move(scanned.solved_scale);
    }
    std::ranges::move(source.found, std::back_inserter(found));
    source.inputs.reset();
  }
  if (found.size() == 1) return write_result(arguments, found.front(), solved_scale);
  write_comparison(arguments, std::move(found[0]), std::move(found[1]), solved_scale);
}

}  // namespace

void add_scan(CLI::App& program) {
  CLI::App* command = program.add_subcommand("scan", "How the heads of a model attend over a text.");
  auto arguments = std::make_shared<ScanArguments>();
  arguments->model.offer(command, "a model folder (config.json, safetensors, tokenizer.json), or what --json wrote");
  command->add_option("--against", arguments->against, "a second model, or scan, to compare with: second - first");
  command->add_option("--text", arguments->texts, "files of text, UTF-8; with several, a label needs most of them");
  command->add_option("--ids", arguments->ids, "a JSON list of token ids, instead of a text");
  command->add_option("--length", arguments->length, "tokens of a window (the trained length, or the text's)")
      ->check(CLI::Range(16, 1 << 24));
  command->add_option("--lengths", arguments->lengths, "also the entropy of every head, and the loss, at these lengths")
      ->delimiter(',');
  command->add_option("--heads", arguments->heads, "heads that the report shows in full, as 3.1,5.0: LAYER.HEAD")
      ->delimiter(',');
  command->add_flag("--fast", arguments->fast, "leave out the second pass, which finds the keys that rows rest on");
  command->add_flag("--allow-beyond", arguments->allow_beyond, "lengths beyond the model's positions");
  command->add_flag("--per-row", arguments->per_row,
                    "in the JSON, also entropy, peak, collision and weight of the first key of every row");
  arguments->what_if.offer(command);
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_other(command, "--tsv", "write a table of the heads");
  arguments->outputs.offer_other(command, "--npz", "write the statistics as NumPy arrays");
  arguments->outputs.offer_other(command, "--scores",
                                 "write the retrieval score of every head, {\"LAYER-HEAD\": [score]}");
  arguments->outputs.offer_other(command, "--write-kappa",
                                 "write what --solve-kappa found, the section isentropic of config.json");
  arguments->outputs.offer_html(command, "-o,--output", "write the report, an HTML page");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
