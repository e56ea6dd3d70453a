// The subcommands of isentropic-torch. Each function adds one, which runs when the command line names it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "model/model_folder.hpp"
#include "tokenizer/tokenizer.hpp"

namespace isentropic::cli {

void add_scan(CLI::App& program);
void add_train(CLI::App& program);
void add_train_lm(CLI::App& train);
void add_train_length(CLI::App& train);
void add_train_retrieval(CLI::App& train);
void add_train_vib(CLI::App& train);
void add_train_contrast(CLI::App& train);
void add_train_dynamics(CLI::App& train);
void add_train_seq2seq(CLI::App& train);
void add_train_grounding(CLI::App& train);
void add_train_resolution(CLI::App& train);
void add_perplexity(CLI::App& program);
void add_generate(CLI::App& program);
void add_plane(CLI::App& program);

// The model folder, --device and --dtype; options() throws a UsageError that lists the accepted values.
struct ModelArguments {
  std::string path, device = "cpu", type = "stored";

  void offer(CLI::App* command, const std::string& help = "a model folder (config.json, safetensors, tokenizer.json)");
  model::OpenOptions options() const;
};

}  // namespace isentropic::cli
