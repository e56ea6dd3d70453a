// Every normaliser rewrites the text and keeps track of how many bytes stem from its start.
#include "tokenizer/normalizer.hpp"

#include <functional>
#include <vector>

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/pattern.hpp"
#include "tokenizer/types.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

// Rewrites the text character by character: `append` adds what a character becomes.
template <typename Append>
void rewrite(Text* text, const Append& append) {
  std::string out;
  out.reserve(text->text.size());
  std::size_t from_start = 0;
  for (std::size_t i = 0; i < text->text.size();) {
    const bool at_start = i < text->from_start;
    append(next_code_point(text->text, &i), &out);
    if (at_start) from_start = out.size();
  }
  text->change(std::move(out), from_start);
}

class NormalFormNormalizer : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}
  void apply(Text* text) const override { apply_form(text, form_); }

  static void apply_form(Text* text, NormalForm form) {
    std::string out = normalise(text->text, form);
    const std::size_t first = first_code_point_length(out);
    text->change(std::move(out), text->from_start > 0 ? first : 0);
  }

 private:
  NormalForm form_;
};

class Lowercase : public Normalizer {
 public:
  void apply(Text* text) const override { rewrite(text, append_lowercase); }
};

class StripAccents : public Normalizer {
 public:
  void apply(Text* text) const override {
    rewrite(text, [](char32_t c, std::string* out) {
      if (!is_mark(c)) append_code_point(c, out);
    });
  }
};

class Strip : public Normalizer {
 public:
  explicit Strip(const Field& field) : left_(field["strip_left"].boolean()), right_(field["strip_right"].boolean()) {}

  void apply(Text* text) const override {
    const std::string& all = text->text;
    std::size_t start = 0, end = all.size();
    while (left_ && start < end) {
      std::size_t next = start;
      if (!is_white_space(next_code_point(all, &next))) break;
      start = next;
    }
    while (right_ && start < end) {
      const char32_t last = code_point_before(all, end);
      if (!is_white_space(last)) break;
      end -= to_utf8(last).size();
    }
    const Piece kept = Piece(*text).slice(start, end);
    text->change(std::string(kept.text), kept.from_start);
  }

 private:
  bool left_, right_;
};

class Replace : public Normalizer {
 public:
  explicit Replace(const Field& field)
      : pattern_(Pattern::from(field["pattern"])), content_(field["content"].string()) {}

  void apply(Text* text) const override {
    std::string out;
    std::size_t copied = 0, from_start = 0;
    const auto copy_until = [&](std::size_t end) {
      out.append(text->text, copied, end - copied);
      if (copied < text->from_start) from_start = out.size() - (end - std::min(end, text->from_start));
    };
    Pattern::Search search{.text = text->text};
    while (pattern_.next(&search)) {
      copy_until(search.start);
      out += content_;
      check_text_size(out.size(), text->limit);
      // A replacement counts as located where its match ends.
      if (search.end == 0 || search.end <= text->from_start) from_start = out.size();
      copied = search.end;
    }
    copy_until(text->text.size());
    text->change(std::move(out), from_start);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(const Field& field) : prefix_(field["prepend"].string()) {}

  void apply(Text* text) const override {
    if (text->text.empty()) return;
    text->change(prefix_ + text->text, text->from_start > 0 ? text->from_start + prefix_.size() : 0);
  }

 private:
  std::string prefix_;
};

class ByteLevel : public Normalizer {
 public:
  void apply(Text* text) const override {
    rewrite(text, [](char32_t c, std::string* out) { append_byte_characters(to_utf8(c), out); });
  }
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const Field& field)
      : clean_text_(field["clean_text"].boolean()),
        handle_chinese_chars_(field["handle_chinese_chars"].boolean()),
        lowercase_(field["lowercase"].boolean()),
        strip_accents_(field.boolean_or("strip_accents", lowercase_)) {}

  void apply(Text* text) const override {
    if (clean_text_) rewrite(text, append_clean);
    if (handle_chinese_chars_) rewrite(text, append_set_apart);
    if (strip_accents_) {
      NormalFormNormalizer::apply_form(text, NormalForm::nfd);
      rewrite(text, [](char32_t c, std::string* out) {
        if (!is_nonspacing_mark(c)) append_code_point(c, out);
      });
    }
    if (lowercase_) rewrite(text, append_lowercase);
  }

 private:
  static void append_clean(char32_t c, std::string* out) {
    if (c == 0 || c == 0xFFFD || is_control(c)) return;
    append_code_point(is_white_space(c) ? U' ' : c, out);
  }
  static void append_set_apart(char32_t c, std::string* out) {
    if (!is_cjk_ideograph(c)) return append_code_point(c, out);
    out->push_back(' ');
    append_code_point(c, out);
    out->push_back(' ');
  }

  bool clean_text_, handle_chinese_chars_, lowercase_, strip_accents_;
};

class Sequence : public Normalizer {
 public:
  explicit Sequence(const Field& field) {
    for (const Field& element : parts_of_sequence(field["normalizers"])) parts_.push_back(read_normalizer(element));
  }
  void apply(Text* text) const override {
    for (const auto& part : parts_) part->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

template <NormalForm form>
std::unique_ptr<Normalizer> make_form(const Field&) {
  return std::make_unique<NormalFormNormalizer>(form);
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const Field& field) {
  static const Types<Normalizer> types = {{"BertNormalizer", make<Normalizer, BertNormalizer>},
                                          {"ByteLevel", make<Normalizer, ByteLevel>},
                                          {"Lowercase", make<Normalizer, Lowercase>},
                                          {"NFC", make_form<NormalForm::nfc>},
                                          {"NFD", make_form<NormalForm::nfd>},
                                          {"NFKC", make_form<NormalForm::nfkc>},
                                          {"NFKD", make_form<NormalForm::nfkd>},
                                          {"Prepend", make<Normalizer, Prepend>},
                                          {"Replace", make<Normalizer, Replace>},
                                          {"Sequence", make<Normalizer, Sequence>},
                                          {"Strip", make<Normalizer, Strip>},
                                          {"StripAccents", make<Normalizer, StripAccents>}};
  return make_by_type(types, field);
}

}  // namespace isentropic::tokenizer
