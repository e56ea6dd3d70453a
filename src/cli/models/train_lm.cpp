// isentropic train lm: trains a language model on texts.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numeric>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/interrupts.hpp"
#include "cli/tools/progress.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/language_model_run.hpp"

namespace isentropic::cli {
namespace {

struct TrainArguments {
  lab::LanguageModelRun run;
  std::string folder;
  bool resume = false, overwrite = false;
};

double mean_of(const std::vector<std::vector<double>>& values) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& layer : values) {
    sum = std::accumulate(layer.begin(), layer.end(), sum);
    count += layer.size();
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::string text_of(const lab::LanguageModelRun& run, const lab::RunStatus& status) {
  const double rate = static_cast<double>(status.steps_here) / status.seconds;
  const double left = static_cast<double>(run.steps - status.step.step) / rate;
  std::string out = fmt::format("step {} of {}, loss {:.4f}", status.step.step, run.steps, status.step.loss);
  if (status.validation_loss > 0) out += fmt::format(", validation {:.4f}", status.validation_loss);
  if (!status.step.entropy.empty()) out += fmt::format(", mean H {:.3f}", mean_of(status.step.entropy));
  return out + fmt::format(", {:.2f} steps/s, {:.0f} tokens/s, {} left", rate,
                           rate * static_cast<double>(run.batch * run.length), duration(left));
}

void run(TrainArguments& arguments) {
  if (!arguments.resume && arguments.run.texts.empty()) throw UsageError("texts", "none", "one file or more");
  try {
    if (!arguments.resume) lab::check_run(arguments.run);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  note_interrupts();
  StatusLine line;
  lab::RunCallbacks callbacks;
  callbacks.say = [](const std::string& message) { fmt::print(stderr, "train: {}\n", message); };
  callbacks.begin = [&](const lab::LanguageModelRun& run) { arguments.run = run; };
  callbacks.show = [&](const lab::RunStatus& status) {
    line.show([&] { return text_of(arguments.run, status); }, status.step.step == arguments.run.steps);
  };
  callbacks.stop = interrupted;
  const lab::RunResult result = arguments.resume ? lab::resume_run(arguments.folder, callbacks)
                                                 : lab::start_run(arguments.folder, arguments.run,
                                                                  arguments.overwrite ? lab::ExistingFolder::overwrite
                                                                                      : lab::ExistingFolder::refuse,
                                                                  callbacks);
  if (!result.finished)
    throw Error("training", fmt::format("interrupted after step {}", result.steps),
                "isentropic train lm -o " + arguments.folder + " --resume, to continue");
  const bool masked = arguments.run.objective == "masked";
  print(fmt::format("{}: {} parameters, family {}, {} steps\nvalidation loss {:.4f} nats{}, perplexity {:.3f}\n",
                    printable_line(arguments.folder), result.parameters, result.family, result.steps,
                    result.validation_loss, masked ? " (pseudo-likelihood)" : "", std::exp(result.validation_loss)));
}

void offer_model(CLI::App* command, lab::LanguageModelRun& run) {
  command->add_option("--tokenizer", run.tokenizer, "a tokenizer.json (default: train one on the texts)");
  command->add_option("--vocabulary", run.vocabulary, "vocabulary size of a tokenizer trained on the texts")
      ->capture_default_str()
      ->check(CLI::Range(258, 1 << 20));
  command->add_option("--layers", run.layers, "number of layers")->capture_default_str()->check(CLI::Range(1, 1024));
  command->add_option("--heads", run.heads, "attention heads per layer")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--kv-heads", run.kv_heads, "key and value heads (default: --heads)")->check(CLI::Range(1, 1024));
  command->add_option("--width", run.width, "model width")->capture_default_str()->check(CLI::Range(1, 1 << 16));
  command
      ->add_option("--mlp-width", run.mlp_width,
                   "hidden width of the MLP (default: 8/3 x width with rms, 4 x width with layer)")
      ->check(CLI::Range(1, 1 << 18));
  command->add_option("--norm", run.norm, "normalisation: rms or layer")->capture_default_str();
  command
      ->add_option("--positions", run.positions,
                   "position encoding: none, rotary, learned, sinusoidal, alibi or relative")
      ->capture_default_str();
  command->add_option("--window", run.window, "sliding window, in keys, the query's own included (default: none)")
      ->check(CLI::Range(1, 1 << 20));
  command
      ->add_option("--global-every", run.global_every,
                   "every Nth layer attends to all keys, without positions (default: no layer)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--scale", run.scale, "scale law, such as log_n or log_n:kappa=1.5 (isentropic info lists them)")
      ->capture_default_str();
  command->add_flag("--learn-scale", run.learn_scale, "learn the law's parameter, one per head");
  command->add_option("--map", run.map, "score map, such as softmax or top_k:keys=64 (isentropic info lists them)")
      ->capture_default_str();
}

void offer_training(CLI::App* command, lab::LanguageModelRun& run) {
  command->add_option("--objective", run.objective, "training objective: autoregressive (ar) or masked (mlm)")
      ->capture_default_str()
      ->transform(CLI::Transformer({{"ar", "autoregressive"}, {"mlm", "masked"}}));
  const CLI::Validator positive = numbers(1e-12, 1e12);
  command->add_option("--steps", run.steps, "optimiser steps")->capture_default_str()->check(CLI::Range(1, 1 << 30));
  command->add_option("--batch", run.batch, "sequences per step")->capture_default_str()->check(CLI::Range(1, 1 << 16));
  command->add_option("--length", run.length, "tokens per sequence")
      ->capture_default_str()
      ->check(CLI::Range(2, 1 << 20));
  command->add_option("--learning-rate", run.learning_rate, "peak learning rate")
      ->capture_default_str()
      ->check(positive);
  command->add_option("--warmup", run.warmup, "linear warm-up steps; then cosine decay to a tenth of the peak")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  command->add_option("--weight-decay", run.weight_decay, "AdamW weight decay")
      ->capture_default_str()
      ->check(numbers(0.0, 1e3));
  command->add_option("--clip", run.clip, "clip the gradient to this norm (0: no clipping)")
      ->capture_default_str()
      ->check(numbers(0.0, 1e12));
  command->add_option("--attention-dropout", run.attention_dropout, "dropout of attention weights")
      ->capture_default_str()
      ->check(numbers(0.0, 0.99));
  command
      ->add_option("--entropy-weight", run.entropy_weight,
                   "weight of the entropy term, the mean of H / log k, in the loss")
      ->capture_default_str()
      ->check(numbers(0.0, 1e6));
  command->add_option("--entropy-direction", run.entropy_direction, "encourage or discourage high entropy")
      ->capture_default_str();
  command->add_option("--seed", run.seed, "random seed")->capture_default_str()->check(seeds());
  command->add_option("--validation", run.validation,
                      "validation text files (default: hold out the end of the training text)");
  command->add_option("--held-out", run.held_out, "fraction held out at the end of the text, without --validation")
      ->capture_default_str()
      ->check(numbers(0.001, 0.5));
  command->add_option("--save-every", run.save_every, "steps between checkpoints (0: only at the end)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  command->add_option("--validate-every", run.validate_every, "steps between validations (0: only at the end)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  command->add_option("--dtype", run.dtype, "type of the saved weights: float32, bfloat16 or float16")
      ->capture_default_str();
  command->add_option("--device", run.device, "cpu, cuda, cuda:1, ...")->capture_default_str();
  command->add_flag("--bfloat16", run.bfloat16, "compute matrix products in bfloat16 (CUDA only)");
  command->add_flag("--torch-attention", run.torch_attention,
                    "use PyTorch's attention except in steps that log statistics");
  command
      ->add_option("--statistics-every", run.statistics_every, "steps between entropy statistics in the log (0: never)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
}

}  // namespace

void add_train_lm(CLI::App& train) {
  CLI::App* command = train.add_subcommand("lm", "Train a language model and write it as a Hugging Face folder");
  auto arguments = std::make_shared<TrainArguments>();
  command->add_option("texts", arguments->run.texts, "training text files, UTF-8");
  command->add_option("-o,--output", arguments->folder, "output folder")->required();
  command->add_flag("--resume", arguments->resume, "continue the run in that folder");
  command->add_flag("--overwrite", arguments->overwrite, "replace the run in that folder");
  offer_model(command, arguments->run);
  offer_training(command, arguments->run);
  command->callback([arguments, command] {
    require_alone(*command, arguments->resume, arguments->overwrite);
    run(*arguments);
  });
}

}  // namespace isentropic::cli
