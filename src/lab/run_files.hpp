// The files of a training run beside the model: what it depends on, and its log.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

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
//   {"step": 1, "loss": 8.3, "rate": 1e-5, "gradient_norm": 2.1, "entropy": [[...]], "normalised_entropy": [[...]]}
//   {"step": 100, "validation_loss": 5.2}
class RunLog {
 public:
  // Lines after `steps` are of a part of the run that was lost: they are removed.
  RunLog(const std::string& folder, std::int64_t steps);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void add(const StepReport& step);
  void add_validation(std::int64_t step, double loss);
  // Throws Error when something could not be written.
  void flush();

 private:
  void write(const std::string& line);
  std::string path_;
  std::FILE* file_;
};

}  // namespace isentropic::lab
