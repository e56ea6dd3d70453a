// Puts the parts of a tokenizer together.
#include "tokenizer/tokenizer.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/decoder.hpp"
#include "tokenizer/model.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/post_processor.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {

struct Tokenizer::Parts {
  explicit Parts(const Field& root) : model(read_model(root["model"])) {
    if (const auto version = root.find("version"); version && version->string() != "1.0") version->refuse("\"1.0\"");
    if (const auto field = root.find("normalizer")) normalizer = read_normalizer(*field);
    if (const auto field = root.find("pre_tokenizer")) pre_tokenizer = read_pre_tokenizer(*field);
    if (const auto field = root.find("added_tokens"))
      added_tokens = AddedTokens(*field, model->vocabulary(), normalizer.get());
    if (const auto field = root.find("post_processor")) post_processor = PostProcessor(*field, vocabulary_size());
    if (const auto field = root.find("decoder")) decoder = Decoder(*field);
  }

  std::int32_t vocabulary_size() const { return std::max(model->vocabulary().size(), added_tokens.size()); }

  // Null if no token has the id.
  const std::string* find_token(std::int32_t id) const {
    if (id < 0 || id >= vocabulary_size())
      throw Error("id", std::to_string(id), "an id from 0 to " + std::to_string(vocabulary_size() - 1));
    const std::string* added = added_tokens.token_of(id);
    return added != nullptr ? added : model->vocabulary().token_of(id);
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  AddedTokens added_tokens;
  PostProcessor post_processor;
  Decoder decoder;
};

namespace {

// A quarter of a million tokens and their merges are about two million values.
constexpr io::JsonLimits kLimits = {.depth = 64, .values = 6'000'000};

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path, "missing", "a tokenizer.json");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path, "not readable", "a tokenizer.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Caches the ids of words seen in the same text: most words of a long text repeat.
class WordEncoder {
 public:
  explicit WordEncoder(const Model& model) : model_(model) {}

  void encode(std::string_view word, Ids* ids) {
    if (word.size() > kLongestWord) return model_.encode(word, ids);
    const auto found = known_.find(word);
    if (found != known_.end()) {
      ids->insert(ids->end(), found->second.begin(), found->second.end());
      return;
    }
    const std::size_t before = ids->size();
    model_.encode(word, ids);
    if (known_.size() < kMostWords)
      known_.emplace(word, Ids(ids->begin() + static_cast<std::ptrdiff_t>(before), ids->end()));
  }

 private:
  static constexpr std::size_t kLongestWord = 128, kMostWords = 1 << 17;

  const Model& model_;
  TokenMap<Ids> known_;
};

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Tokenizer Tokenizer::read(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / "tokenizer.json").string() : path;
  return from_json(read_file(file), file);
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name) {
  const nlohmann::json json = io::parse_object(name, text, kLimits);
  return Tokenizer(std::make_shared<const Parts>(Field(json, name)));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  check_text_size(text.size());
  if (const std::size_t bad = invalid_utf8_at(text); bad < text.size())
    throw Error("text", "not UTF-8 at byte " + std::to_string(bad), "UTF-8");
  const Parts& parts = *parts_;
  Ids ids;
  WordEncoder words(*parts.model);
  const EmitPiece on_word = [&](Piece word) { words.encode(word.text, &ids); };
  const auto on_token = [&](std::int32_t id) { ids.push_back(id); };
  const auto on_normalized = [&](Piece piece) {
    if (parts.pre_tokenizer)
      parts.pre_tokenizer->split(piece, on_word);
    else
      on_word(piece);
  };
  const auto on_text = [&](Piece piece) {
    if (!parts.normalizer) return parts.added_tokens.cut_normalized(piece, on_token, on_normalized);
    Text normalized = Text::copy_of(piece);
    parts.normalizer->apply(&normalized);
    parts.added_tokens.cut_normalized(normalized, on_token, on_normalized);
  };
  parts.added_tokens.cut({text, first_code_point_length(text)}, on_token, on_text);
  return parts.post_processor.apply(std::move(ids), add_special_tokens);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  StreamDecoder stream(*this, skip_special_tokens);
  std::string out;
  for (const std::int32_t id : ids) out += stream.put(id);
  return out + stream.finish();
}

std::int32_t Tokenizer::vocabulary_size() const { return parts_->vocabulary_size(); }

std::optional<std::int32_t> Tokenizer::id_of(std::string_view token) const {
  const auto added = parts_->added_tokens.id_of(token);
  return added ? added : parts_->model->vocabulary().id_of(token);
}

std::string Tokenizer::token_of(std::int32_t id) const {
  const std::string* token = parts_->find_token(id);
  if (token == nullptr) throw Error("id", std::to_string(id), "the id of a token");
  return *token;
}

struct StreamDecoder::State {
  std::shared_ptr<const Tokenizer::Parts> parts;
  bool skip_special_tokens;
  Decoding decoding;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(new State{tokenizer.parts_, skip_special_tokens, tokenizer.parts_->decoder.start()}) {}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::put(std::int32_t id) {
  const std::string* token = state_->parts->find_token(id);
  if (token == nullptr) return "";
  if (state_->skip_special_tokens && state_->parts->added_tokens.is_special(*token)) return "";
  return state_->decoding.put(*token);
}

std::string StreamDecoder::finish() { return state_->decoding.finish(); }

}  // namespace isentropic::tokenizer
