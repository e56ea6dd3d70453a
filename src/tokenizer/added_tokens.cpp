// Reads added tokens and cuts texts at them.
#include "tokenizer/added_tokens.hpp"

#include "io/untrusted_json.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

constexpr std::size_t kMaximumLength = 1000;  // bytes: a token is tried at every position of a text

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(code_point_before(text, text.size()));
}

bool starts_with_word(std::string_view text) {
  std::size_t position = 0;
  return !text.empty() && is_word_character(next_code_point(text, &position));
}

std::size_t without_white_space_before(std::string_view text, std::size_t end) {
  while (end > 0) {
    const char32_t c = code_point_before(text, end);
    if (!is_white_space(c)) break;
    end -= to_utf8(c).size();
  }
  return end;
}

std::size_t behind_white_space(std::string_view text, std::size_t position) {
  while (position < text.size()) {
    std::size_t next = position;
    if (!is_white_space(next_code_point(text, &next))) break;
    position = next;
  }
  return position;
}

}  // namespace

AddedTokens::AddedTokens(const Field& field, const Vocabulary& model, const Normalizer* normalizer) {
  for (const Field& token : field.elements()) add(token, model, normalizer);
  for (const auto& [id, token] : tokens_) (token.normalized ? normalized_ : plain_).add(token.decoded, id);
}

std::int32_t AddedTokens::next_id(const Vocabulary& model) const {
  return std::max(size(), static_cast<std::int32_t>(model.tokens()));
}

void AddedTokens::add(const Field& field, const Vocabulary& model, const Normalizer* normalizer) {
  const std::string& content = field["content"].string();
  if (content.empty()) return;
  if (content.size() > kMaximumLength) field["content"].refuse("at most " + std::to_string(kMaximumLength) + " bytes");
  auto id = id_of(content);
  if (!id) id = model.id_of(content);
  if (!id) {
    id = next_id(model);
    if (const std::string* other = model.token_of(*id))
      field["id"].refuse("a token of the vocabulary: " + io::excerpt(*other) + " has the id " + std::to_string(*id));
  }
  if (field["id"].integer(INT32_MAX - 1) != *id)
    field["id"].refuse(std::to_string(*id) + ", the next that is free or its id in the vocabulary");

  Token token{.content = content,
              .decoded = content,
              .single_word = field["single_word"].boolean(),
              .lstrip = field["lstrip"].boolean(),
              .rstrip = field["rstrip"].boolean(),
              .normalized = field["normalized"].boolean()};
  if (token.normalized && normalizer != nullptr) {
    Text text = Text::copy_of({content, first_code_point_length(content)});
    normalizer->apply(&text);
    token.decoded = text.text;
  }
  if (field["special"].boolean()) special_.insert(content);
  ids_[content] = *id;
  tokens_[*id] = std::move(token);
}

void AddedTokens::cut_by(const TokenTrie& trie, Piece piece, const OnToken& on_token, const OnText& on_text) const {
  const std::string_view text = piece.text;
  std::size_t done = 0, position = 0;
  while (const auto match = trie.find(text, position)) {
    const Token& token = tokens_.at(match->id);
    position = match->end;
    const bool within_word = ends_with_word(text.substr(0, match->start)) || starts_with_word(text.substr(match->end));
    if (token.single_word && within_word) continue;
    std::size_t start = match->start, end = match->end;
    if (token.lstrip) start = std::max(without_white_space_before(text, start), done);
    if (token.rstrip) end = behind_white_space(text, end);
    if (done < start) on_text(piece.slice(done, start));
    on_token(match->id);
    done = end;
  }
  if (done < text.size()) on_text(piece.slice(done, text.size()));
}

std::optional<std::int32_t> AddedTokens::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* AddedTokens::token_of(std::int64_t id) const {
  const auto found = id >= 0 && id < size() ? tokens_.find(static_cast<std::int32_t>(id)) : tokens_.end();
  return found == tokens_.end() ? nullptr : &found->second.decoded;
}

}  // namespace isentropic::tokenizer
