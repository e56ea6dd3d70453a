// The folder of a study: what it depends on, a log of JSON lines, and the state from which it goes on.
//
//   DIR/study.json          its name and its options, which --resume reads back
//   DIR/log.jsonl           a line for each record, with the step that it belongs to
//   DIR/state.safetensors   tensors by name, and the step after which they were so
//   DIR/runs                the same of parts that several processes share (claimed_run.hpp)
//   DIR/documents.safetensors, tokenizer.json   the tokens of a study that reads texts
//   DIR/results.json        what was found, and
//   DIR/page.html           the same to look at, when the study has ended; some have a picture beside it
//
//   StudyFolder folder = resume ? StudyFolder::resume(path, "vib") : StudyFolder::begin(path, "vib", options,
//   existing); std::int64_t step = folder.restore(tensors);  // 0 in a new one while (step < steps) {
//     ...; folder.log({{"step", ++step}, ...}); if (...) folder.save(tensors, step);
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

// Throws Error where there is something that may not be overwritten. What may be is a folder that holds `mark`, a file
// which says that it was made here.
void require_free(const std::string& folder, ExistingFolder existing, const std::string& mark);

// How a study tells of itself while it runs.
struct StudyCallbacks {
  std::function<void(const std::string& message)> say = nullptr;  // what happens before the first step
  std::function<void(double share, const std::string& now)> show =
      nullptr;                           // how much is done, and what there is to see
  std::function<bool()> stop = nullptr;  // true: save and end after this step

  void tell(const std::string& message) const {
    if (say) say(message);
  }
  void progress(double share, const std::string& now) const {
    if (show) show(share, now);
  }
  bool stops() const { return stop && stop(); }
};

// What a line of the log is.
enum class LogLines : std::uint8_t {
  steps,  // of one process: those after the saved state were lost, and are removed
  parts   // finished parts, which are never removed; several processes may add them at the same time
};

class StudyFolder {
 public:
  using Json = nlohmann::ordered_json;

  // Throws Error where begin() would, and changes nothing: before the long work of a study that reads texts first.
  static void require_place(const std::string& path, ExistingFolder existing);
  // Makes the folder; an earlier study in it is removed where that is allowed and no process trains in it.
  static StudyFolder begin(const std::string& path, const std::string& study, const Json& options,
                           ExistingFolder existing, LogLines lines = LogLines::steps);
  // Throws Error unless the folder holds such a study.
  static StudyFolder resume(const std::string& path, const std::string& study, LogLines lines = LogLines::steps);

  const std::string& path() const { return path_; }
  const Json& options() const { return options_; }
  // From now on; study.json stays as it is.
  void use_device(const std::string& device);
  std::int64_t steps() const { return steps_; }  // when it was last saved

  void log(const Json& line) { log_->add(line); }
  std::vector<Json> lines();  // of the log so far
  void save(const NamedTensors& tensors, std::int64_t steps);
  // Into tensors that are in use. Returns steps(); in a new folder 0, and tensors stay as they are.
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
