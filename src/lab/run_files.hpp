// The files of a training run beside the model: what it depends on, and its log.
#pragma once

#include <string>
#include <vector>

#include "lab/json_log.hpp"
#include "lab/language_model_run.hpp"

namespace isentropic::lab {

std::string state_path(const std::string& folder);

// What the files of a run hold. They are read once: one may be a pipe.
struct RunTexts {
  std::vector<std::string> train, validation;
};
RunTexts read_texts(const LanguageModelRun& run);

// Makes the folder, or empties it of an earlier run, and writes training/run.json.
void prepare_folder(const std::string& folder, const LanguageModelRun& run, const RunTexts& texts);

struct SavedRun {
  LanguageModelRun run;
  RunTexts texts;
};
// Throws Error unless the folder holds a run that can go on and its texts are what they were.
SavedRun read_run(const std::string& folder);

// log.jsonl, a line for each step:
//   {"step": 1, "loss": 8.3, "learning_rate": 1e-5, "gradient_norm": 2.1, "entropy": [[...]], "normalised_entropy": [[...]]}
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
