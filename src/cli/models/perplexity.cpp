// isentropic perplexity: how well a model predicts a text.
#include "lab/perplexity.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/models/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "lab/corpus.hpp"
#include "report/text_table.hpp"

namespace isentropic::cli {
namespace {

struct PerplexityArguments {
  ModelArguments model;
  std::string text;
  std::vector<std::string> lengths;
  Outputs outputs;
};

std::vector<std::int64_t> lengths_of(const PerplexityArguments& arguments) {
  std::vector<std::int64_t> out;
  for (const std::string& length : arguments.lengths)
    out.push_back(parse_integer("--lengths", length, 2, std::int64_t{1} << 24));
  return out;
}

std::string tables(const std::vector<lab::Perplexity>& results) {
  report::TextTable table({"length", "windows", "tokens", "loss", "perplexity", "mean H", "H / log k"});
  for (const lab::Perplexity& x : results)
    table.add_row({std::to_string(x.length), std::to_string(x.windows), std::to_string(x.tokens),
                   fmt::format("{:.4f}", x.loss), fmt::format("{:.3f}", std::exp(x.loss)),
                   fmt::format("{:.3f}", x.entropy), fmt::format("{:.3f}", x.normalised_entropy)});
  const char* note = results.size() > 1 ? "\nloss in nats, of the same last tokens at every length\n"
                                        : "\nloss in nats, the mean over all tokens but the first of each window\n";
  return table.str() + note;
}

nlohmann::ordered_json json(const PerplexityArguments& arguments, const std::vector<lab::Perplexity>& results) {
  nlohmann::ordered_json out = {{"model", arguments.model.path}, {"text", arguments.text}};
  for (const lab::Perplexity& x : results)
    out["lengths"].push_back({{"length", x.length},
                              {"windows", x.windows},
                              {"tokens", x.tokens},
                              {"loss", x.loss},
                              {"perplexity", std::exp(x.loss)},
                              {"entropy", x.entropy},
                              {"normalised_entropy", x.normalised_entropy}});
  return out;
}

void run(const PerplexityArguments& arguments) {
  const std::vector<std::int64_t> lengths = lengths_of(arguments);
  const model::OpenOptions options = arguments.model.options();
  arguments.outputs.check({arguments.text});
  const std::string text = lab::read_text(arguments.text);
  const tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::read(arguments.model.path);
  const model::Transformer model = model::open_model(arguments.model.path, options);
  if (!model.description().causal)  // a row would see the token that it is to predict
    throw Error("model", model.description().family, "one that predicts what comes next");
  const std::vector<std::int32_t> tokens = tokenizer.encode(text, false);
  std::vector<lab::Perplexity> results;
  {
    Progress line("perplexity");
    lab::PerplexityOptions work;
    work.progress = [&](double share) { line.show(share); };
    work.length = std::min<std::int64_t>(lengths.empty() ? model.description().trained_length : lengths.front(),
                                         lengths.empty() ? static_cast<std::int64_t>(tokens.size()) : lengths.front());
    if (lengths.size() > 1)
      results = lab::perplexity_by_length(model, tokens, lengths, work);
    else
      results = {lab::perplexity(model, tokens, work)};
  }
  arguments.outputs.write({[&] { return tables(results); }, [&] { return json(arguments, results); }});
}

}  // namespace

void add_perplexity(CLI::App& program) {
  CLI::App* command = program.add_subcommand("perplexity", "Measure the perplexity of a model on a text");
  auto arguments = std::make_shared<PerplexityArguments>();
  arguments->model.offer(command);
  command->add_option("text", arguments->text, "text file, UTF-8")->required();
  command
      ->add_option("--lengths", arguments->lengths,
                   "window length in tokens; with several, the same last tokens are scored after more and more context "
                   "(default: "
                   "the trained length)")
      ->delimiter(',');
  arguments->outputs.offer_json(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
