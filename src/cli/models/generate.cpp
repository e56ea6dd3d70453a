// isentropic generate: continues a prompt and prints the text as it is generated.
#include "lab/generate.hpp"

#include <cstdio>
#include <memory>

#include "checkpoint/config.hpp"
#include "cli/models/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"

namespace isentropic::cli {
namespace {

struct GenerateArguments {
  ModelArguments model;
  std::string prompt, tokens = "100", temperature = "1", top_p = "1", seed = "1";
  bool greedy = false;
};

lab::GenerationOptions options_of(const GenerateArguments& arguments) {
  lab::GenerationOptions out;
  out.tokens = parse_integer("--max-new-tokens", arguments.tokens, 1, 1 << 24);
  out.greedy = arguments.greedy;
  out.temperature = parse_number("--temperature", arguments.temperature, 1e-6, 1e6);
  out.top_p = parse_number("--top-p", arguments.top_p, 0, 1);
  out.seed = parse_seed(arguments.seed);
  out.ends = checkpoint::Config::read(arguments.model.path)
                 .find_integers("eos_token_id", {.least = 0})
                 .value_or(std::vector<std::int64_t>{});
  return out;
}

void run(const GenerateArguments& arguments) {
  const model::OpenOptions open = arguments.model.options();
  const lab::GenerationOptions options = options_of(arguments);
  const tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::read(arguments.model.path);
  const model::Transformer model = model::open_model(arguments.model.path, open);
  if (!model.description().causal)
    throw Error("model", model.description().family, "one that predicts what comes next");
  const std::vector<std::int32_t> prompt = tokenizer.encode(arguments.prompt);
  tokenizer::StreamDecoder text(tokenizer, /*skip_special_tokens=*/true);
  const auto show = [](const std::string& piece) {
    print(printable(piece));
    std::fflush(stdout);
  };
  for (const std::int32_t id : prompt) show(text.put(id));
  lab::generate(model, prompt, options, [&](std::int32_t id) {
    show(text.put(id));
    return !standard_output_failed();
  });
  show(text.finish() + "\n");
}

}  // namespace

void add_generate(CLI::App& program) {
  CLI::App* command = program.add_subcommand("generate", "Generate text from a prompt");
  auto arguments = std::make_shared<GenerateArguments>();
  arguments->model.offer(command);
  command->add_option("--prompt", arguments->prompt, "text to continue")->required();
  command->add_option("--max-new-tokens", arguments->tokens, "maximum number of new tokens")->capture_default_str();
  command->add_flag("--greedy", arguments->greedy, "always take the most likely token");
  command->add_option("--temperature", arguments->temperature, "softmax temperature")->capture_default_str();
  command->add_option("--top-p", arguments->top_p, "sample from the smallest set of tokens with this total probability")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "random seed")->capture_default_str();
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
