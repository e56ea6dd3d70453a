// The folder of a study: what it depends on, a log of JSON lines, and the state from which it is resumed.
//
//   DIR/study.json          its name and its options, which --resume reads back
//   DIR/log.jsonl           one line per record, with the step that it belongs to
//   DIR/state.safetensors   tensors by name, and the step at which they were saved
//   DIR/runs                the same for parts that several processes share (claimed_run.hpp)
//   DIR/documents.safetensors, tokenizer.json   the tokens of a study that reads texts
//   DIR/results.json        the results, and
//   DIR/page.html           the same as a page, once the study has finished; some add figures
//
//   StudyFolder folder = resume ? StudyFolder::resume(path, "vib")
//                               : StudyFolder::begin(path, "vib", options, existing);
//   std::int64_t step = folder.restore(tensors);  // 0 in a new one
//   while (step < steps) {
//     ...;
//     folder.log({{"step", ++step}, ...});
//     if (...) folder.save(tensors, step);
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/json_log.hpp"
#include "lab/tensor_state.hpp"

namespace isentropic::lab {

enum class ExistingFolder : std::uint8_t { refuse, overwrite };

// Throws Error if the folder holds something that may not be overwritten. Only a folder that contains `mark`, a file
// that shows that it was made here, may be overwritten.
void require_free(const std::string& folder, ExistingFolder existing, const std::string& mark);

// How a study reports while it runs.
struct StudyCallbacks {
  std::function<void(const std::string& message)> say = nullptr;             // messages to the user
  std::function<void(double share, const std::string& now)> show = nullptr;  // the fraction done, and a status text
  std::function<bool()> stop = nullptr;                                      // true: save and stop after this step

  void tell(const std::string& message) const {
    if (say) say(message);
  }
  void progress(double share, const std::string& now) const {
    if (show) show(share, now);
  }
  bool stops() const { return stop && stop(); }
};

// What a line of the log stands for.
enum class LogLines : std::uint8_t {
  steps,  // steps of one process: lines after the saved state were lost, and are removed
  parts   // finished parts, which are never removed; several processes may add them at the same time
};

class StudyFolder {
 public:
  using Json = nlohmann::ordered_json;

  // Throws Error if begin() would, without changing anything: for studies that first read texts, which takes long.
  static void require_place(const std::string& path, ExistingFolder existing);
  // Creates the folder; an earlier study in it is removed if that is allowed and no process trains in it.
  static StudyFolder begin(const std::string& path, const std::string& study, const Json& options,
                           ExistingFolder existing, LogLines lines = LogLines::steps);
  // Throws Error unless the folder holds a study of that name.
  static StudyFolder resume(const std::string& path, const std::string& study, LogLines lines = LogLines::steps);

  const std::string& path() const { return path_; }
  const Json& options() const { return options_; }
  // From now on; study.json stays unchanged.
  void use_device(const std::string& device);
  std::int64_t steps() const { return steps_; }  // at the last save

  void log(const Json& line) { log_->add(line); }
  std::vector<Json> lines();  // of the log so far
  void save(const NamedTensors& tensors, std::int64_t steps);
  // Copies the saved state into `tensors` and returns steps(); in a new folder, returns 0 and leaves them unchanged.
  std::int64_t restore(const NamedTensors& tensors) const;
  void write(const std::string& file, const std::string& text) const;
  void write_results(const Json& results) const;  // results.json

 private:
  StudyFolder(std::string path, Json options, LogLines lines);
  std::string state_path() const { return path_ + "/state.safetensors"; }

  std::string path_;
  Json options_;
  std::int64_t steps_ = 0;
  std::unique_ptr<JsonLog> log_;
};

}  // namespace isentropic::lab
