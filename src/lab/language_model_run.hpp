// A training run of a language model, from texts to a model folder.
//
//   DIR/config.json, model.safetensors, tokenizer.json, ...   the model, in the Hugging Face layout
//   DIR/log.jsonl                                             one line per step, and one per validation
//   DIR/log.svg                                               its curves, drawn when the run ends or is stopped
//   DIR/training/run.json, state.safetensors                  what --resume needs
//
// The model folder and the state are written every `save_every` steps, and when the run ends or is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/study_folder.hpp"
#include "lab/trainer.hpp"

namespace isentropic::lab {

// Everything that a run depends on. Texts are identified by path and content.
struct LanguageModelRun {
  std::vector<std::string> texts, validation;
  std::string objective = "autoregressive";  // or "masked"
  std::string tokenizer;                     // a tokenizer.json or its folder; "": trained on the texts
  std::int64_t vocabulary = 4096;            // of a tokenizer that is trained
  std::int64_t layers = 6, heads = 8, kv_heads = 0, width = 256, mlp_width = 0;  // 0: as heads; 8/3 or 4 times width
  std::string norm = "rms", positions = "rotary", scale = "inverse_sqrt_d", map = "softmax";
  bool learn_scale = false;
  std::int64_t window = 0, global_every = 0;  // 0: none
  std::int64_t steps = 1000, batch = 8, length = 256, warmup = 100;
  double learning_rate = 1e-3, weight_decay = 0.1, clip = 1.0, attention_dropout = 0, held_out = 0.05;
  double entropy_weight = 0;
  std::string entropy_direction = "encourage";  // or "discourage"
  std::uint64_t seed = 1;
  std::int64_t save_every = 500, validate_every = 100;
  std::string dtype = "float32";  // of the saved weights: float32, bfloat16 or float16
  std::string device = "cpu";     // or "cuda", "cuda:1"
  bool bfloat16 = false;          // matrix products in bfloat16; CUDA only
  std::int64_t statistics_every = 1;
  bool torch_attention = false;
};

// The building blocks of a run, for studies that combine them differently. Special tokens of tokenizers trained here:
inline constexpr const char* kEndToken = "<|endoftext|>";
inline constexpr const char* kMaskToken = "<|mask|>";
std::string trained_tokenizer(const std::vector<std::string>& texts, std::int64_t vocabulary);  // its tokenizer.json
model::Description describe(const LanguageModelRun& run, std::int64_t vocabulary);
TrainingOptions training_options(const LanguageModelRun& run, const tokenizer::Tokenizer& tokenizer);

struct RunStatus {
  StepReport step;
  double validation_loss = 0;  // the last one; 0: none yet
  double seconds = 0;          // since the run was started or resumed
  std::int64_t steps_here = 0;
};

struct RunCallbacks {
  std::function<void(const std::string& message)> say = nullptr;     // messages before the first step
  std::function<void(const LanguageModelRun& run)> begin = nullptr;  // before training, with the run's options
  std::function<void(const RunStatus& status)> show = nullptr;       // after every step
  std::function<bool()> stop = nullptr;                              // true: save and stop after this step
};

// Throws Error if the run is invalid, before any text is read.
void check_run(const LanguageModelRun& run);

struct RunResult {
  std::int64_t steps = 0;
  bool finished = false;  // false: it was stopped and can be resumed
  double validation_loss = 0;
  std::int64_t parameters = 0;
  std::string family;
};

RunResult start_run(const std::string& folder, const LanguageModelRun& run, ExistingFolder existing,
                    const RunCallbacks& callbacks);
// Resumes from the last save.
RunResult resume_run(const std::string& folder, const RunCallbacks& callbacks);

}  // namespace isentropic::lab
