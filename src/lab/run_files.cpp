// Reads and writes run.json and log.jsonl.
#include "lab/run_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/output_file.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LanguageModelRun, texts, validation, objective, tokenizer, vocabulary, layers, heads,
                                   kv_heads, width, mlp_width, norm, positions, scale, map, learn_scale, window,
                                   global_every, steps, batch, length, warmup, learning_rate, weight_decay, clip,
                                   attention_dropout, held_out, entropy_weight, entropy_direction, seed, save_every,
                                   validate_every, dtype, device, bfloat16, torch_attention, statistics_every)

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string run_path(const std::string& folder) { return folder + "/training/run.json"; }

using Fingerprints = std::vector<std::uint64_t>;

Fingerprints fingerprints(const RunTexts& texts) {
  Fingerprints out;
  for (const auto* list : {&texts.train, &texts.validation})
    for (const std::string& text : *list) out.push_back(fingerprint(text));
  return out;
}

}  // namespace

std::string state_path(const std::string& folder) { return folder + "/training/state.safetensors"; }

RunTexts read_texts(const LanguageModelRun& run) {
  RunTexts out;
  for (const std::string& path : run.texts) out.train.push_back(read_text(path));
  for (const std::string& path : run.validation) out.validation.push_back(read_text(path));
  return out;
}

void prepare_folder(const std::string& folder, const LanguageModelRun& run, const RunTexts& texts) {
  std::error_code error;
  fs::remove_all(folder + "/training", error);
  for (const char* file : {"config.json", "model.safetensors", "log.jsonl", "log.svg"})
    fs::remove(folder + "/" + file, error);
  fs::create_directories(folder + "/training", error);
  if (error) throw Error("output folder", "'" + folder + "'", "one that can be made (" + error.message() + ")");
  LanguageModelRun saved = run;
  for (std::vector<std::string>* list : {&saved.texts, &saved.validation})
    for (std::string& path : *list) path = fs::absolute(path).string();
  const Json out = {{"run", nlohmann::json(saved)}, {"fingerprints", fingerprints(texts)}};
  io::write_file(run_path(folder), run_path(folder), out.dump(2) + "\n");
}

SavedRun read_run(const std::string& folder) {
  const std::string path = run_path(folder);
  if (!fs::exists(path) || !fs::exists(state_path(folder)))
    throw Error("output folder", "'" + folder + "', which holds no run to continue", "one that was interrupted");
  SavedRun out;
  Fingerprints expected;
  try {
    const nlohmann::json json = io::parse_object(path, read_text(path), {.depth = 8, .values = 1'000'000});
    out.run = json.at("run").get<LanguageModelRun>();
    expected = json.at("fingerprints").get<Fingerprints>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(path, "not as it was written", error.what());
  }
  if (out.run.texts.size() + out.run.validation.size() != expected.size())
    throw Error(path, "not as it was written", "a print for each text");
  out.texts = read_texts(out.run);
  const Fingerprints found = fingerprints(out.texts);
  const auto changed = static_cast<std::size_t>(std::ranges::mismatch(found, expected).in1 - found.begin());
  if (changed == found.size()) return out;
  const std::size_t count = out.run.texts.size();
  throw Error("text " + (changed < count ? out.run.texts[changed] : out.run.validation[changed - count]),
              "not what it was when the run began", "the same text");
}

// ---- Log ----

void RunLog::add(const StepReport& step) {
  Json line = {{"step", step.step},
               {"loss", step.loss},
               {"learning_rate", step.learning_rate},
               {"gradient_norm", step.gradient_norm}};
  if (!step.entropy.empty()) {
    line["entropy"] = step.entropy;
    line["normalised_entropy"] = step.normalised_entropy;
  }
  log_.add(line);
}

void RunLog::add_validation(std::int64_t step, double loss) { log_.add({{"step", step}, {"validation_loss", loss}}); }

}  // namespace isentropic::lab
