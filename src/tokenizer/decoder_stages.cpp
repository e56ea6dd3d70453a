// Stages that need whole tokens collect them; the others pass on what they can.
#include "tokenizer/decoder_stages.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/pattern.hpp"
#include "tokenizer/piece.hpp"
#include "tokenizer/prepend_scheme.hpp"
#include "tokenizer/types.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

// A stage that fresh() can copy, because it has not seen a token yet.
template <typename Stage>
class Copied : public DecoderStage {
 public:
  std::unique_ptr<DecoderStage> fresh() const override {
    return std::make_unique<Stage>(static_cast<const Stage&>(*this));
  }
};

// A stage that receives whole tokens.
template <typename Stage>
class WholeTokens : public Copied<Stage> {
 public:
  using Pass = DecoderStage::Pass;

  void put(std::string_view part, bool ends, const Pass& pass) override {
    token_ += part;
    if (!ends) return;
    static_cast<Stage*>(this)->token(std::exchange(token_, {}), pass);
    ++index_;
  }

 protected:
  std::size_t index_ = 0;  // of the token

 private:
  std::string token_;
};

void replace_all(std::string* text, std::string_view what, std::string_view by) {
  if (what.empty()) return;
  std::string out;
  std::size_t done = 0;
  for (std::size_t found; (found = text->find(what, done)) != std::string::npos; done = found + what.size()) {
    out.append(*text, done, found - done);
    out += by;
  }
  out.append(*text, done);
  *text = std::move(out);
}

class Replace : public WholeTokens<Replace> {
 public:
  explicit Replace(const Field& field)
      : pattern_(Pattern::from(field["pattern"])), content_(field["content"].string()) {}

  void token(const std::string& token, const Pass& pass) {
    std::string out;
    std::size_t done = 0;
    Pattern::Search search{.text = token};
    while (pattern_.next(&search)) {
      out.append(token, done, search.start - done);
      out += content_;
      check_text_size(out.size());
      done = search.end;
    }
    pass(out.append(token, done), true);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class WordPieceDecoder : public WholeTokens<WordPieceDecoder> {
 public:
  explicit WordPieceDecoder(const Field& field)
      : prefix_(field["prefix"].string()), cleanup_(field["cleanup"].boolean()) {}

  void token(std::string token, const Pass& pass) {
    if (index_ > 0) token = token.starts_with(prefix_) ? token.substr(prefix_.size()) : " " + token;
    if (cleanup_) clean_up(&token);
    pass(token, true);
  }

 private:
  static void clean_up(std::string* token) {
    using Rule = std::pair<std::string_view, std::string_view>;
    static constexpr std::array<Rule, 11> rules = {{{" .", "."},
                                                    {" ?", "?"},
                                                    {" !", "!"},
                                                    {" ,", ","},
                                                    {" ' ", "'"},
                                                    {" n't", "n't"},
                                                    {" 'm", "'m"},
                                                    {" do not", " don't"},
                                                    {" 's", "'s"},
                                                    {" 've", "'ve"},
                                                    {" 're", "'re"}}};
    for (const auto& [what, by] : rules) replace_all(token, what, by);
  }

  std::string prefix_;
  bool cleanup_;
};

class MetaspaceDecoder : public WholeTokens<MetaspaceDecoder> {
 public:
  explicit MetaspaceDecoder(const Field& field)
      : replacement_(to_utf8(field["replacement"].character())), scheme_(read_prepend_scheme(field)) {}

  void token(std::string token, const Pass& pass) {
    replace_all(&token, replacement_, index_ == 0 && scheme_ != PrependScheme::never ? "" : " ");
    pass(token, true);
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
};

// Holds each token back until it knows whether another follows: the last one is treated differently.
class BpeDecoder : public WholeTokens<BpeDecoder> {
 public:
  explicit BpeDecoder(const Field& field) : suffix_(field["suffix"].string()) {}

  void token(std::string token, const Pass& pass) {
    give(" ", pass);
    held_ = std::move(token);
  }
  void finish(const Pass& pass) override { give("", pass); }

 private:
  void give(std::string_view end_of_word, const Pass& pass) {
    if (!held_) return;
    replace_all(&*held_, suffix_, end_of_word);
    pass(*held_, true);
    held_.reset();
  }

  std::string suffix_;
  std::optional<std::string> held_;
};

class Fuse : public Copied<Fuse> {
 public:
  void put(std::string_view part, bool, const Pass& pass) override { pass(part, false); }
  void finish(const Pass& pass) override { pass("", true); }
};

class SpacesBetween : public WholeTokens<SpacesBetween> {
 public:
  void token(const std::string& token, const Pass& pass) { pass(index_ == 0 ? token : " " + token, true); }
};

class Strip : public Copied<Strip> {
 public:
  explicit Strip(const Field& field)
      : content_(to_utf8(field["content"].character())),
        start_(field["start"].integer(INT32_MAX)),
        stop_(field["stop"].integer(INT32_MAX)) {}

  void put(std::string_view part, bool ends, const Pass& pass) override {
    while (stripped_ < start_ && part.starts_with(content_)) {
      part.remove_prefix(content_.size());
      ++stripped_;
    }
    if (!part.empty()) stripped_ = start_;  // something other than content_: stop stripping
    if (stop_ > 0) {
      held_ += part;
      if (!ends) return;
      for (std::int64_t i = 0; i < stop_ && held_.ends_with(content_); ++i)
        held_.resize(held_.size() - content_.size());
      pass(held_, true);
      held_.clear();
    } else {
      pass(part, ends);
    }
    if (ends) stripped_ = 0;
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
  std::int64_t stripped_ = 0;  // from the front of the current token
  std::string held_;           // its end may have to be stripped
};

class ByteFallback : public WholeTokens<ByteFallback> {
 public:
  void token(const std::string& token, const Pass& pass) {
    if (const auto byte = byte_of(token)) return bytes_.push_back(*byte);
    finish(pass);
    pass(token, true);
  }
  void finish(const Pass& pass) override {
    if (bytes_.empty()) return;
    if (invalid_utf8_at(bytes_) == bytes_.size()) {
      pass(bytes_, true);
    } else {
      for (std::size_t i = 0; i < bytes_.size(); ++i) pass(kReplacementCharacter, true);
    }
    bytes_.clear();
  }

 private:
  static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }
  // "<0xE2>"; Hugging Face also parses "<0x+2>" as a number.
  static std::optional<char> byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    const int high = token[3] == '+' ? 0 : digit_of(token[3]), low = digit_of(token[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<char>(16 * high + low);
  }

  std::string bytes_;  // of the current run
};

class ByteLevelDecoder : public WholeTokens<ByteLevelDecoder> {
 public:
  void token(const std::string& token, const Pass& pass) {
    if (!append_bytes(token)) bytes_ += token;
    give(pass, /*all=*/false);
  }
  void finish(const Pass& pass) override {
    give(pass, /*all=*/true);
    pass("", true);
  }

 private:
  // Returns false, and appends nothing, if a character does not stand for a byte.
  bool append_bytes(const std::string& token) {
    const std::size_t before = bytes_.size();
    for (std::size_t i = 0; i < token.size();) {
      const auto byte = byte_of_character(next_code_point(token, &i));
      if (!byte) {
        bytes_.resize(before);
        return false;
      }
      bytes_.push_back(static_cast<char>(*byte));
    }
    return true;
  }

  // Passes on the bytes, except (unless `all`) an incomplete character at the end.
  void give(const Pass& pass, bool all) {
    std::string out;
    std::size_t done = 0;
    while (done < bytes_.size()) {
      const Utf8Step step = utf8_step(bytes_, done);
      if (step.kind == Utf8Step::incomplete && !all) break;
      out += step.kind == Utf8Step::valid ? std::string_view(bytes_).substr(done, step.length) : kReplacementCharacter;
      done += step.length;
    }
    bytes_.erase(0, done);
    if (!out.empty()) pass(out, false);
  }

  std::string bytes_;  // not yet passed on
};

}  // namespace

std::unique_ptr<DecoderStage> read_decoder_stage(const Field& field) {
  static const Types<DecoderStage> types = {{"BPEDecoder", make<DecoderStage, BpeDecoder>},
                                            {"ByteFallback", make<DecoderStage, ByteFallback>},
                                            {"ByteLevel", make<DecoderStage, ByteLevelDecoder>},
                                            {"Fuse", make<DecoderStage, Fuse>},
                                            {"Metaspace", make<DecoderStage, MetaspaceDecoder>},
                                            {"Replace", make<DecoderStage, Replace>},
                                            {"Strip", make<DecoderStage, Strip>},
                                            {"WordPiece", make<DecoderStage, WordPieceDecoder>}};
  return make_by_type(types, field);
}

std::unique_ptr<DecoderStage> spaces_between() { return std::make_unique<SpacesBetween>(); }

}  // namespace isentropic::tokenizer
