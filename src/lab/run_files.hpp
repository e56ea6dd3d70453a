// The files of a training run besides the model: what it depends on, and its log.
#pragma once

#include <string>
#include <vector>

#include "lab/json_log.hpp"
#include "lab/language_model_run.hpp"

namespace isentropic::lab {

std::string state_path(const std::string& folder);

// The contents of a run's text files. Each is read once: it may be a pipe.
struct RunTexts {
  std::vector<std::string> train, validation;
};
RunTexts read_texts(const LanguageModelRun& run);

// Creates the folder, or removes an earlier run's files from it, and writes training/run.json.
void prepare_folder(const std::string& folder, const LanguageModelRun& run, const RunTexts& texts);

struct SavedRun {
  LanguageModelRun run;
  RunTexts texts;
};
// Throws Error unless the folder holds a run that can be resumed and its texts are unchanged.
SavedRun read_run(const std::string& folder);

// log.jsonl, one line per step and one per validation:
//   {"step": 1, "loss": 8.3, "learning_rate": 1e-5, "gradient_norm": 2.1, "entropy": [[...]],
//    "normalised_entropy": [[...]]}
//   {"step": 100, "validation_loss": 5.2}
class RunLog {
 public:
  RunLog(const std::string& folder, std::int64_t steps) : log_(folder + "/log.jsonl", steps) {}

  void add(const StepReport& step);
  void add_validation(std::int64_t step, double loss);
  void flush() { log_.flush(); }

 private:
  JsonLog log_;
};

}  // namespace isentropic::lab
