// Greedy longest match first.
#include "tokenizer/wordpiece.hpp"

#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

// The search is cubic in the length of a word, so the configurable limit is itself limited.
constexpr std::int64_t kMostCharacters = 10'000;

std::size_t bytes_of_last_character(std::string_view text) {
  return to_utf8(code_point_before(text, text.size())).size();
}

}  // namespace

WordPiece::WordPiece(const Field& field)
    : Model(Vocabulary::read(field["vocab"])),
      prefix_(field["continuing_subword_prefix"].string()),
      maximum_characters_(static_cast<std::size_t>(field["max_input_chars_per_word"].integer(kMostCharacters))) {
  const Field unknown = field["unk_token"];
  const auto id = vocabulary().id_of(unknown.string());
  if (!id) unknown.refuse("a token of the vocabulary");
  unknown_ = *id;
}

void WordPiece::encode(std::string_view word, Ids* ids) const {
  if (count_code_points(word) > maximum_characters_) return ids->push_back(unknown_);
  const std::size_t before = ids->size();
  std::string piece;
  for (std::size_t start = 0; start < word.size();) {
    std::string_view rest = word.substr(start);
    piece = (start > 0 ? prefix_ : "") + std::string(rest);
    std::optional<std::int32_t> id;
    while (!rest.empty() && !(id = vocabulary().id_of(piece))) {
      const std::size_t last = bytes_of_last_character(rest);
      rest.remove_suffix(last);
      piece.resize(piece.size() - last);
    }
    if (!id) {
      ids->resize(before);
      return ids->push_back(unknown_);
    }
    ids->push_back(*id);
    start += rest.size();
  }
}

}  // namespace isentropic::tokenizer
