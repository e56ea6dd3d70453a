// isentropic scan: how the heads of a model attend over a text.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/models/scan_inputs.hpp"
#include "cli/tools/progress.hpp"
#include "lab/solve_scale.hpp"
#include "lab/what_if.hpp"
#include "scan/arrays.hpp"
#include "scan/comparison.hpp"
#include "scan/page.hpp"
#include "scan/tables.hpp"
#include "scan/terminal.hpp"

namespace isentropic::cli {
namespace {

// Returns the config section of the solved scale; empty if none was solved.
std::string add_alternatives(ScanInputs& inputs, scan::Result* found) {
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

Scanned run_scan(ScanInputs& inputs) {
  Scanned out;
  {
    Progress line("scan", static_cast<std::size_t>(lab::scan_memory(inputs.model.description(), inputs.longest())));
    inputs.options.progress = [&](double share) { line.show(share); };
    out.result = lab::scan_model(inputs.model, inputs.about(), inputs.texts, inputs.options);
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

// Arrays, retrieval scores and a solved scale are those of the second scan.
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

// The scan whose arrays, retrieval scores and solved scale are written.
const std::string& last_source(const ScanArguments& arguments) {
  return arguments.against.empty() ? arguments.model.path : arguments.against;
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
  if (arguments.outputs.asks_for("--write-kappa") && is_scan_file(last_source(arguments)))
    throw UsageError("--write-kappa", "given with the saved scan " + last_source(arguments), "a model to solve it for");
  arguments.outputs.check(files);
  std::vector<scan::Result> found;
  std::string solved_scale;
  for (ScanSource& source : read_sources(arguments)) {
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
  CLI::App* command = program.add_subcommand("scan", "Scan how the heads of a model attend over a text");
  auto arguments = std::make_shared<ScanArguments>();
  arguments->model.offer(command,
                         "model folder (config.json, safetensors, tokenizer.json), or a scan saved with --json");
  command->add_option("--against", arguments->against, "second model or saved scan to compare with (second - first)");
  command->add_option("--text", arguments->texts, "text files, UTF-8; with several, a label must hold in most of them");
  command->add_option("--ids", arguments->ids, "JSON list of token ids, instead of a text");
  command
      ->add_option("--length", arguments->length,
                   "window length in tokens (default: the trained length, or the text's if shorter)")
      ->check(CLI::Range(16, 1 << 24));
  command
      ->add_option("--lengths", arguments->lengths, "also measure the loss and every head's entropy at these lengths")
      ->delimiter(',');
  command->add_option("--heads", arguments->heads, "heads to show in full in the report, as LAYER.HEAD: 3.1,5.0")
      ->delimiter(',');
  command->add_flag("--fast", arguments->fast, "skip the second pass, which finds the keys that receive most weight");
  command->add_flag("--allow-beyond", arguments->allow_beyond, "allow lengths beyond the model's maximum position");
  command->add_flag("--per-row", arguments->per_row,
                    "add every row's entropy, peak, collision and weight of the first key to the JSON");
  arguments->what_if.offer(command);
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_other(command, "--tsv", "write a table of the heads");
  arguments->outputs.offer_other(command, "--npz", "write the statistics as NumPy arrays");
  arguments->outputs.offer_other(command, "--scores",
                                 "write the retrieval score of every head, {\"LAYER-HEAD\": [score]}");
  arguments->outputs.offer_other(command, "--write-kappa",
                                 "write the result of --solve-kappa as the isentropic section of config.json");
  arguments->outputs.offer_html(command, "-o,--output", "write the report, an HTML page");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
