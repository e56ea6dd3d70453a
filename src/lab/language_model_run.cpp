// Combines tokenizer, corpus, model and trainer, and saves the results.
#include "lab/language_model_run.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <chrono>
#include <filesystem>

#include "io/output_file.hpp"
#include "isentropic/error.hpp"
#include "lab/log_picture.hpp"
#include "lab/run_files.hpp"
#include "lab/words.hpp"
#include "model/design.hpp"
#include "model/model_folder.hpp"
#include "model/names.hpp"
#include "tokenizer/bpe_trainer.hpp"

namespace isentropic::lab {

std::string trained_tokenizer(const std::vector<std::string>& texts, std::int64_t vocabulary) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  tokenizer::BpeTrainingOptions options;
  options.special_tokens = {kEndToken, kMaskToken};
  return tokenizer::train_byte_level_bpe(views, static_cast<std::size_t>(vocabulary), options).to_json();
}

model::Description describe(const LanguageModelRun& run, std::int64_t vocabulary) {
  model::Description out;
  out.vocabulary = vocabulary;
  out.width = run.width;
  out.layers.resize(static_cast<std::size_t>(run.layers));
  out.heads = run.heads;
  out.kv_heads = run.kv_heads > 0 ? run.kv_heads : run.heads;
  if (run.width % run.heads != 0)
    throw Error("width", std::to_string(run.width), "a multiple of the heads, " + std::to_string(run.heads));
  if (out.heads % out.kv_heads != 0)
    throw Error("kv-heads", std::to_string(run.kv_heads), "a divisor of the heads, " + std::to_string(run.heads));
  out.head_width = run.width / run.heads;
  const model::NormKind norm = model::norm_named(run.norm);
  // A gated MLP has three matrices where a plain one has two.
  const std::int64_t gated_width = (run.width * 8 / 3 + 15) / 16 * 16;
  out.mlp_width = run.mlp_width > 0 ? run.mlp_width : norm == model::NormKind::rms ? gated_width : 4 * run.width;
  out.trained_length = run.length;
  model::design(out, norm, model::positions_named(run.positions), run.objective == "autoregressive",
                {.window = run.window, .global_every = run.global_every});
  out.scale = scale_from_text(run.scale);
  out.map = map_from_text(run.map);
  out.learn_scale = run.learn_scale;
  if (out.kv_heads != out.heads && (out.family == "gpt2" || out.family == "bert"))
    throw Error("kv-heads", std::to_string(run.kv_heads), "as many as heads, with these norms and positions");
  return out;
}

TrainingOptions training_options(const LanguageModelRun& run, const tokenizer::Tokenizer& tokenizer) {
  TrainingOptions out;
  const bool masked = run.objective == "masked";
  out.objective = masked ? Objective::masked : Objective::autoregressive;
  out.steps = run.steps, out.batch = run.batch, out.length = run.length;
  out.learning_rate = run.learning_rate, out.warmup = run.warmup, out.clip = run.clip;
  out.adamw.weight_decay = run.weight_decay;
  out.attention_dropout = run.attention_dropout;
  out.regulariser.weight = run.entropy_weight;
  if (run.entropy_direction == "discourage") out.regulariser.direction = pytorch::Direction::discourage;
  out.seed = run.seed;
  out.bfloat16 = run.bfloat16, out.torch_attention = run.torch_attention, out.statistics_every = run.statistics_every;
  if (!masked) return out;
  const auto mask = tokenizer.id_of(kMaskToken);
  const auto other = mask ? mask : tokenizer.id_of("[MASK]");
  if (!other) throw Error("tokenizer", "without a mask token", std::string(kMaskToken) + " or [MASK] in it");
  out.mask_token = *other;
  return out;
}

namespace {

namespace fs = std::filesystem;

void require_choice(const char* argument, const std::string& value, const char* one, const char* other) {
  if (value != one && value != other) throw Error(argument, "'" + value + "'", std::string(one) + " or " + other);
}

// The tokenized texts, held in memory, with their tokenizer.
struct Material {
  std::string tokenizer_json;
  tokenizer::Tokenizer tokenizer;
  Corpus corpus;
};

std::string tokenizer_text(const LanguageModelRun& run, const std::vector<std::string>& texts,
                           const RunCallbacks& callbacks) {
  if (!run.tokenizer.empty()) {
    const fs::path path = run.tokenizer;
    return read_text((fs::is_directory(path) ? path / "tokenizer.json" : path).string());
  }
  if (callbacks.say) callbacks.say("training a tokenizer of " + std::to_string(run.vocabulary) + " tokens");
  return trained_tokenizer(texts, run.vocabulary);
}

Material prepare(const LanguageModelRun& run, const RunTexts& texts, const std::string& saved_tokenizer,
                 const RunCallbacks& callbacks) {
  std::string json = saved_tokenizer.empty() ? tokenizer_text(run, texts.train, callbacks) : saved_tokenizer;
  tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::from_json(json);
  CorpusOptions options;
  options.end = tokenizer.id_of(kEndToken).value_or(-1);
  options.held_out = run.held_out;
  options.length = run.length;
  Corpus corpus = make_corpus(tokenizer, texts.train, texts.validation, options);
  if (callbacks.say)
    callbacks.say(std::to_string(corpus.train.size()) + " tokens to train on, " +
                  std::to_string(corpus.validation.size()) + " held out");
  return {std::move(json), std::move(tokenizer), std::move(corpus)};
}

// A run in progress.
class RunningModel {
 public:
  RunningModel(std::string folder, LanguageModelRun run, Material material)
      : folder_(std::move(folder)),
        run_(std::move(run)),
        material_(std::move(material)),
        model_(make_model()),
        trainer_(model_, material_.corpus, training_options(run_, material_.tokenizer)) {}

  RunResult train(const RunCallbacks& callbacks, bool resumed);

 private:
  model::Transformer make_model() const {
    const model::Description description = describe(run_, material_.tokenizer.vocabulary_size());
    const at::Device device = model::device_named("device", run_.device);
    at::Generator generator = at::detail::createCPUGenerator(run_.seed);
    model::RandomParameters source(description, generator, at::TensorOptions().dtype(at::kFloat).device(device));
    return model::Transformer(description, source);
  }

  void save() const {
    model::FolderTexts texts;
    texts.tokenizer_json = material_.tokenizer_json;
    if (const auto end = material_.tokenizer.id_of(kEndToken)) texts.end_token = kEndToken, texts.end_id = *end;
    if (run_.objective == "masked") texts.mask_token = kMaskToken;
    trainer_.save(state_path(folder_));
    model::write_model(folder_, model_, texts, model::type_named("dtype", run_.dtype));
  }

  void draw_log() const {
    const std::string title = "Training of a " + std::to_string(run_.layers) + "-layer transformer, " +
                              std::to_string(run_.heads) + " heads, scale " + run_.scale;
    const std::string path = folder_ + "/log.svg";
    io::write_file(path, path, log_picture(title, read_text(folder_ + "/log.jsonl")));
  }

  std::string folder_;
  LanguageModelRun run_;
  Material material_;
  model::Transformer model_;
  Trainer trainer_;
};

RunResult RunningModel::train(const RunCallbacks& callbacks, bool resumed) {
  if (resumed) trainer_.load(state_path(folder_));
  if (callbacks.begin) callbacks.begin(run_);
  RunLog log(folder_, trainer_.steps_done());
  RunStatus status;
  const auto start = std::chrono::steady_clock::now();
  const auto validate = [&] {
    status.validation_loss = trainer_.validation_loss();
    log.add_validation(trainer_.steps_done(), status.validation_loss);
  };
  bool stopped = false;
  while (trainer_.steps_done() < run_.steps && !stopped) {
    status.step = trainer_.step();
    log.add(status.step);
    const std::int64_t done = trainer_.steps_done();
    if (run_.validate_every > 0 && done % run_.validate_every == 0 && done < run_.steps) validate();
    if (run_.save_every > 0 && done % run_.save_every == 0 && done < run_.steps) log.flush(), save();
    status.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++status.steps_here;
    if (callbacks.show) callbacks.show(status);
    stopped = callbacks.stop && callbacks.stop();
  }
  const bool finished = trainer_.steps_done() >= run_.steps;
  if (finished) validate();
  log.flush();
  save();
  draw_log();
  RunResult out{trainer_.steps_done(), finished, status.validation_loss, 0, model_.description().family};
  for (const auto& item : model_.parameters()) out.parameters += item.value().numel();
  return out;
}

}  // namespace

void check_run(const LanguageModelRun& run) {
  require_choice("objective", run.objective, "autoregressive", "masked");
  require_choice("entropy-direction", run.entropy_direction, "encourage", "discourage");
  model::type_named("dtype", run.dtype);
  describe(run, 256);
  model::device_named("device", run.device);
}

RunResult start_run(const std::string& folder, const LanguageModelRun& run, ExistingFolder existing,
                    const RunCallbacks& callbacks) {
  check_run(run);
  require_free(folder, existing, "training/run.json");
  RunTexts texts = read_texts(run);
  Material material = prepare(run, texts, "", callbacks);
  prepare_folder(folder, run, texts);
  texts = {};  // no longer needed: they are tokens now
  return RunningModel(folder, run, std::move(material)).train(callbacks, false);
}

RunResult resume_run(const std::string& folder, const RunCallbacks& callbacks) {
  SavedRun saved = read_run(folder);
  Material material = prepare(saved.run, saved.texts, read_text(folder + "/tokenizer.json"), callbacks);
  saved.texts = {};
  return RunningModel(folder, saved.run, std::move(material)).train(callbacks, true);
}

}  // namespace isentropic::lab
