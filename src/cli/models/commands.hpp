// The subcommands of isentropic-torch. Each adds itself to the program and runs when it was named.
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

// --device and --dtype of a model that is read; UsageError names what is known.
struct ModelArguments {
  std::string path, device = "cpu", type = "stored";

  void offer(CLI::App* command, const std::string& help = "a model folder (config.json, safetensors, tokenizer.json)");
  model::OpenOptions options() const;
};

}  // namespace isentropic::cli
