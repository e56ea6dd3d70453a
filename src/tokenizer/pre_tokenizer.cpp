// Each pre-tokenizer splits a piece and passes the parts on, so that a sequence needs no intermediate lists.
#include "tokenizer/pre_tokenizer.hpp"

#include <utility>
#include <vector>

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/pattern.hpp"
#include "tokenizer/prepend_scheme.hpp"
#include "tokenizer/split_behavior.hpp"
#include "tokenizer/types.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

enum class Wanted { matches, rest };  // which segments count as matches: those found, or those in between

void split_at_pattern(Piece piece, const Pattern& pattern, SplitBehavior behavior, Wanted wanted,
                      const EmitPiece& emit) {
  Splitter splitter(piece, behavior, emit);
  const bool is_match = wanted == Wanted::matches;
  std::size_t done = 0;
  Pattern::Search search{.text = piece.text};
  while (pattern.next(&search)) {
    if (done != search.start) splitter.add(done, search.start, !is_match);
    splitter.add(search.start, search.end, is_match);
    done = search.end;
  }
  if (done != piece.text.size()) splitter.add(done, piece.text.size(), !is_match);
  splitter.finish();
}

// Every character that satisfies `is_delimiter` is a match of its own.
template <typename IsDelimiter>
void split_at_characters(Piece piece, const IsDelimiter& is_delimiter, SplitBehavior behavior, const EmitPiece& emit) {
  Splitter splitter(piece, behavior, emit);
  std::size_t done = 0;
  for (std::size_t i = 0; i < piece.text.size();) {
    const std::size_t start = i;
    if (!is_delimiter(next_code_point(piece.text, &i))) continue;
    if (done < start) splitter.add(done, start, false);
    splitter.add(start, i, true);
    done = i;
  }
  if (done < piece.text.size()) splitter.add(done, piece.text.size(), false);
  splitter.finish();
}

Text with_prefix(Piece piece, std::string_view prefix) {
  return {std::string(prefix) + std::string(piece.text), piece.from_start > 0 ? piece.from_start + prefix.size() : 0};
}

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) pattern_ = Pattern::regex(kGpt2Pattern, "the pattern of GPT-2");
  }
  explicit ByteLevel(const Field& field)
      : ByteLevel(field["add_prefix_space"].boolean(), field.boolean_or("use_regex", true)) {}

  void split(Piece piece, const EmitPiece& emit) const override {
    Text prefixed;
    if (add_prefix_space_ && !piece.text.starts_with(' ')) {
      prefixed = with_prefix(piece, " ");
      piece = prefixed;
    }
    Text word;
    const EmitPiece emit_characters = [&](Piece part) {
      word.text.clear();
      append_byte_characters(part.text.substr(0, part.from_start), &word.text);
      word.from_start = word.text.size();
      append_byte_characters(part.text.substr(part.from_start), &word.text);
      check_text_size(word.text.size());
      emit(word);
    };
    if (!pattern_) return emit_characters(piece);
    split_at_pattern(piece, *pattern_, SplitBehavior::isolated, Wanted::matches, emit_characters);
  }

 private:
  bool add_prefix_space_;
  std::optional<Pattern> pattern_;
};

class Split : public PreTokenizer {
 public:
  explicit Split(const Field& field)
      : pattern_(Pattern::from(field["pattern"])),
        behavior_(read_split_behavior(field["behavior"])),
        wanted_(field.boolean_or("invert", false) ? Wanted::rest : Wanted::matches) {}

  void split(Piece piece, const EmitPiece& emit) const override {
    split_at_pattern(piece, pattern_, behavior_, wanted_, emit);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  Wanted wanted_;
};

class Whitespace : public PreTokenizer {
 public:
  void split(Piece piece, const EmitPiece& emit) const override {
    std::size_t start = 0;
    Kind kind = space;
    for (std::size_t i = 0; i < piece.text.size();) {
      const std::size_t here = i;
      const Kind next = kind_of(next_code_point(piece.text, &i));
      if (next == kind) continue;
      if (kind != space) emit(piece.slice(start, here));
      start = here;
      kind = next;
    }
    if (kind != space) emit(piece.slice(start, piece.text.size()));
  }

 private:
  enum Kind { space, word, other };

  static Kind kind_of(char32_t c) {
    if (is_word_character(c)) return word;
    return is_white_space(c) ? space : other;
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  void split(Piece piece, const EmitPiece& emit) const override {
    split_at_characters(piece, is_white_space, SplitBehavior::removed, emit);
  }
};

class BertPreTokenizer : public PreTokenizer {
 public:
  void split(Piece piece, const EmitPiece& emit) const override {
    const EmitPiece set_punctuation_apart = [&](Piece word) {
      split_at_characters(word, is_punctuation, SplitBehavior::isolated, emit);
    };
    split_at_characters(piece, is_white_space, SplitBehavior::removed, set_punctuation_apart);
  }
};

class Punctuation : public PreTokenizer {
 public:
  explicit Punctuation(const Field& field) {
    if (const auto behavior = field.find("behavior")) behavior_ = read_split_behavior(*behavior);
  }
  void split(Piece piece, const EmitPiece& emit) const override {
    split_at_characters(piece, is_punctuation, behavior_, emit);
  }

 private:
  SplitBehavior behavior_ = SplitBehavior::isolated;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(const Field& field)
      : behavior_(field["individual_digits"].boolean() ? SplitBehavior::isolated : SplitBehavior::contiguous) {}
  void split(Piece piece, const EmitPiece& emit) const override {
    split_at_characters(piece, is_number, behavior_, emit);
  }

 private:
  SplitBehavior behavior_;
};

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const Field& field)
      : replacement_(field["replacement"].character()),
        written_(to_utf8(replacement_)),
        scheme_(read_prepend_scheme(field)),
        split_(field.boolean_or("split", true)) {}

  void split(Piece piece, const EmitPiece& emit) const override {
    Text text = with_spaces_replaced(piece);
    const bool prepend = scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && text.from_start > 0);
    if (prepend && !text.text.starts_with(written_)) text = with_prefix(text, written_);
    if (!split_) return emit(text);
    split_at_characters(
        text, [&](char32_t c) { return c == replacement_; }, SplitBehavior::merged_with_next, emit);
  }

 private:
  Text with_spaces_replaced(Piece piece) const {
    Text out;
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      if (piece.text[i] == ' ')
        out.text += written_;
      else
        out.text += piece.text[i];
      if (i < piece.from_start) out.from_start = out.text.size();
    }
    return out;
  }

  char32_t replacement_;
  std::string written_;
  PrependScheme scheme_;
  bool split_;
};

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(const Field& field) {
    for (const Field& element : parts_of_sequence(field["pretokenizers"]))
      parts_.push_back(read_pre_tokenizer(element));
  }
  void split(Piece piece, const EmitPiece& emit) const override { split_from(0, piece, emit); }

 private:
  void split_from(std::size_t part, Piece piece, const EmitPiece& emit) const {
    if (part == parts_.size()) return emit(piece);
    parts_[part]->split(piece, [&](Piece word) { split_from(part + 1, word, emit); });
  }

  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Field& field) {
  static const Types<PreTokenizer> types = {{"BertPreTokenizer", make<PreTokenizer, BertPreTokenizer>},
                                            {"ByteLevel", make<PreTokenizer, ByteLevel>},
                                            {"Digits", make<PreTokenizer, Digits>},
                                            {"Metaspace", make<PreTokenizer, Metaspace>},
                                            {"Punctuation", make<PreTokenizer, Punctuation>},
                                            {"Sequence", make<PreTokenizer, Sequence>},
                                            {"Split", make<PreTokenizer, Split>},
                                            {"Whitespace", make<PreTokenizer, Whitespace>},
                                            {"WhitespaceSplit", make<PreTokenizer, WhitespaceSplit>}};
  return make_by_type(types, field);
}

std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(bool add_prefix_space) {
  return std::make_unique<ByteLevel>(add_prefix_space, /*use_regex=*/true);
}

}  // namespace isentropic::tokenizer
