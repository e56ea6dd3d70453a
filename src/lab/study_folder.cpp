// Creates, reads and writes the folders of studies.
#include "lab/study_folder.hpp"

#include <algorithm>
#include <filesystem>

#include "io/output_file.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"
#include "lab/claimed_run.hpp"
#include "lab/corpus.hpp"

namespace isentropic::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kLevelsInLines = 2;

// One line per member, down to `levels` levels; what is nested deeper stays on one line.
std::string in_lines(const StudyFolder::Json& json, int levels, const std::string& indent) {
  if (levels == 0 || !json.is_structured() || json.empty()) return json.dump();
  const std::string inner = indent + " ";
  std::string out;
  for (const auto& [key, value] : json.items()) {
    out += (out.empty() ? "\n" : ",\n") + inner;
    if (json.is_object()) out += StudyFolder::Json(key).dump() + ": ";
    out += in_lines(value, levels - 1, inner);
  }
  return (json.is_object() ? "{" : "[") + out + "\n" + indent + (json.is_object() ? "}" : "]");
}

std::string study_path(const std::string& folder) { return folder + "/study.json"; }

}  // namespace

void require_free(const std::string& folder, ExistingFolder existing, const std::string& mark) {
  if (!fs::exists(folder) || (fs::is_directory(folder) && fs::is_empty(folder))) return;
  if (existing == ExistingFolder::refuse)
    throw Error("output folder", "'" + folder + "', which is there already", "a new one, --resume or --overwrite");
  if (!fs::exists(folder + "/" + mark))
    throw Error("output folder", "'" + folder + "', which holds no " + mark + " to overwrite", "a new one");
}

StudyFolder::StudyFolder(std::string path, Json options, LogLines lines)
    : path_(std::move(path)), options_(std::move(options)) {
  const std::string log = path_ + "/log.jsonl";
  if (lines == LogLines::parts) {
    log_ = std::make_unique<JsonLog>(log);
    return;
  }
  if (fs::exists(state_path())) steps_ = restore_tensors(state_path(), {});
  // A finished study may no longer have its large state file: its page is made from its log.
  if (fs::exists(path_ + "/results.json"))
    for (const Json& line : read_log(log)) steps_ = std::max(steps_, line.value("step", steps_));
  log_ = std::make_unique<JsonLog>(log, steps_);
}

void StudyFolder::require_place(const std::string& path, ExistingFolder existing) {
  require_free(path, existing, "study.json");
  if (ClaimedRun::any_is_held(path))
    throw Error("output folder", "'" + path + "', in which a process trains", "one that no process works on");
}

StudyFolder StudyFolder::begin(const std::string& path, const std::string& study, const Json& options,
                               ExistingFolder existing, LogLines lines) {
  require_place(path, existing);
  std::error_code error;
  for (const char* file : {"study.json", "log.jsonl", "state.safetensors", "results.json", "page.html",
                           "documents.safetensors", "tokenizer.json"})
    fs::remove(path + "/" + file, error);
  ClaimedRun::remove_all(path);
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.path().extension() == ".svg") fs::remove(entry.path(), error);
  fs::create_directories(path, error);
  if (error) throw Error("output folder", "'" + path + "'", "one that can be made (" + error.message() + ")");
  const Json about = {{"study", study}, {"options", options}};
  io::write_file(study_path(path), study_path(path), about.dump(2) + "\n");
  return StudyFolder(path, options, lines);
}

StudyFolder StudyFolder::resume(const std::string& path, const std::string& study, LogLines lines) {
  const std::string file = study_path(path);
  if (!fs::exists(file))
    throw Error("output folder", "'" + path + "', which holds no study to continue", "one that was interrupted");
  const auto about = io::parse_object(file, read_text(file), {.depth = 8, .values = 100'000});
  if (!about.contains("study") || !about.contains("options") || about["study"] != study)
    throw Error("output folder", "'" + path + "', which holds another study", "one of '" + study + "'");
  return StudyFolder(path, about["options"], lines);
}

void StudyFolder::use_device(const std::string& device) {
  Json& place = options_.contains("variants") ? options_["variants"] : options_;
  if (place.contains("device")) place["device"] = device;
}

std::vector<StudyFolder::Json> StudyFolder::lines() {
  log_->flush();
  return read_log(path_ + "/log.jsonl");
}

void StudyFolder::save(const NamedTensors& tensors, std::int64_t steps) {
  log_->flush();
  save_tensors(state_path(), tensors, steps);
  steps_ = steps;
}

std::int64_t StudyFolder::restore(const NamedTensors& tensors) const {
  return steps_ == 0 ? 0 : restore_tensors(state_path(), tensors);
}

void StudyFolder::write(const std::string& file, const std::string& text) const {
  io::write_file(path_ + "/" + file, path_ + "/" + file, text);
}

void StudyFolder::write_results(const Json& results) const {
  write("results.json", in_lines(results, kLevelsInLines, "") + "\n");
}

}  // namespace isentropic::lab
