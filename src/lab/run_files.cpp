// Reads and writes run.json and log.jsonl.
#include "lab/run_files.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/output_file.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LanguageModelRun, texts, validation, objective, tokenizer, vocabulary, layers, heads,
                                   kv_heads, width, mlp_width, norm, positions, scale, map, learn_scale, window,
                                   global_every, steps, batch, length, warmup, rate, weight_decay, clip,
                                   attention_dropout, held_out, entropy_weight, entropy_direction, seed, save_every,
                                   validate_every, type, device, bfloat16, torch_attention, statistics_every)

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string run_path(const std::string& folder) { return folder + "/training/run.json"; }

// FNV-1a, to notice that a text is another one.
std::uint64_t fingerprint(const std::string& text) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return out;
}

std::vector<std::string> all_texts(const LanguageModelRun& run) {
  std::vector<std::string> out = run.texts;
  out.insert(out.end(), run.validation.begin(), run.validation.end());
  return out;
}

}  // namespace

std::string state_path(const std::string& folder) { return folder + "/training/state.safetensors"; }

void prepare_folder(const std::string& folder, const LanguageModelRun& run) {
  std::error_code error;
  fs::remove_all(folder + "/training", error);
  for (const char* file : {"config.json", "model.safetensors", "log.jsonl", "log.svg"})
    fs::remove(folder + "/" + file, error);
  fs::create_directories(folder + "/training", error);
  if (error) throw Error("output folder", "'" + folder + "', which cannot be made", error.message());
  LanguageModelRun saved = run;
  Json prints = Json::array();
  for (std::vector<std::string>* list : {&saved.texts, &saved.validation})
    for (std::string& path : *list) {
      prints.push_back(fingerprint(read_text(path)));
      path = fs::absolute(path).string();
    }
  const Json out = {{"run", nlohmann::json(saved)}, {"fingerprints", prints}};
  io::write_file(run_path(folder), run_path(folder), out.dump(2) + "\n");
}

LanguageModelRun read_run(const std::string& folder) {
  if (!fs::exists(run_path(folder)) || !fs::exists(state_path(folder)))
    throw Error("output folder", "'" + folder + "', which holds no run to go on with", "one that was interrupted");
  std::ifstream file(run_path(folder));
  LanguageModelRun run;
  std::vector<std::uint64_t> prints;
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    run = json.at("run").get<LanguageModelRun>();
    prints = json.at("fingerprints").get<std::vector<std::uint64_t>>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(run_path(folder), "not as it was written", error.what());
  }
  const std::vector<std::string> texts = all_texts(run);
  if (texts.size() != prints.size()) throw Error(run_path(folder), "not as it was written", "a print for each text");
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (fingerprint(read_text(texts[i])) != prints[i])
      throw Error("text " + texts[i], "not what it was when the run began", "the same text");
  return run;
}

// ---- Log ----

RunLog::RunLog(const std::string& folder, std::int64_t steps) : path_(folder + "/log.jsonl") {
  std::string kept;
  std::ifstream old(path_);
  for (std::string line; std::getline(old, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.value("step", steps + 1) <= steps) kept += line + "\n";
  }
  old.close();
  io::write_file(path_, path_, kept);
  file_ = std::fopen(path_.c_str(), "a");
  if (!file_) throw Error(path_, "not writable", "a file to write to");
}

RunLog::~RunLog() { std::fclose(file_); }

void RunLog::write(const std::string& line) {
  if (std::fprintf(file_, "%s\n", line.c_str()) < 0) throw Error(path_, "not writable", "room on the disk");
}

void RunLog::flush() {
  if (std::fflush(file_) != 0) throw Error(path_, "not writable", "room on the disk");
}

void RunLog::add(const StepReport& step) {
  Json line = {{"step", step.step}, {"loss", step.loss}, {"rate", step.rate}, {"gradient_norm", step.gradient_norm}};
  if (!step.entropy.empty()) {
    line["entropy"] = step.entropy;
    line["normalised_entropy"] = step.normalised_entropy;
  }
  write(line.dump());
}

void RunLog::add_validation(std::int64_t step, double loss) {
  write(Json{{"step", step}, {"validation_loss", loss}}.dump());
}

}  // namespace isentropic::lab
