// Makes a single pass over the pattern, handling escapes, brackets and repetition counts, and copying the rest.
#include "tokenizer/oniguruma_syntax.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::tokenizer {
namespace {

// A character class: bracket contents for it and for its complement.
struct CharacterSet {
  char letter;
  std::string_view members, others;
};

constexpr std::array<CharacterSet, 4> kSets = {{
    {'s', R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})",
     R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})"},
    {'w', R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})", ""},
    {'d', R"(\p{Nd})", R"(\P{Nd})"},
    {'h', "0-9A-Fa-f", R"(\x{0}-\x{2F}\x{3A}-\x{40}\x{47}-\x{60}\x{67}-\x{10FFFF})"},
}};

struct NamedSet {
  std::string_view name, members;
};

constexpr std::array<NamedSet, 8> kPosixSets = {{{"alpha", R"(\p{Alphabetic})"},
                                                 {"alnum", R"(\p{Alphabetic}\p{Nd})"},
                                                 {"digit", R"(\p{Nd})"},
                                                 {"lower", R"(\p{Lowercase})"},
                                                 {"upper", R"(\p{Uppercase})"},
                                                 {"punct", R"(\p{P}\p{S})"},
                                                 {"space", kSets[0].members},
                                                 {"word", kSets[1].members}}};

class Rewriter {
 public:
  Rewriter(std::string_view pattern, const std::string& place) : pattern_(pattern), place_(place) {}

  std::string rewrite() {
    while (at_ < pattern_.size()) {
      if (starts_with("\\")) {
        escape(/*in_brackets=*/false);
      } else if (starts_with("[")) {
        brackets();
      } else if (starts_with("{,")) {
        out_ += "{0,";
        at_ += 2;
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const { throw Error(place_, io::excerpt(pattern_), expected); }

  bool starts_with(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  // Copies fewer if the pattern ends early: PCRE2 then reports the error.
  void copy(std::size_t characters) {
    const std::string_view copied = pattern_.substr(at_, characters);
    out_ += copied;
    at_ += copied.size();
  }

  void escape(bool in_brackets) {
    const char letter = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
    if (letter == 'p' || letter == 'P') return property();
    if (!in_brackets && (letter == 'b' || letter == 'B')) return word_border(letter == 'b');
    const char lower = static_cast<char>(letter | 0x20);
    for (const CharacterSet& set : kSets) {
      if (set.letter != lower) continue;
      at_ += 2;
      if (!in_brackets) {
        out_ += (letter == lower ? "[" : "[^") + std::string(set.members) + "]";
        return;
      }
      const std::string_view chosen = letter == lower ? set.members : set.others;
      if (chosen.empty()) refuse("a pattern without \\W in brackets");
      out_ += chosen;
      return;
    }
    copy(2);
  }

  void word_border(bool wanted) {
    const std::string word = "[" + std::string(kSets[1].members) + "]";
    out_ += "(?:(?<=" + word + (wanted ? ")(?!" : ")(?=") + word + ")|(?<!" + word + (wanted ? ")(?=" : ")(?!") + word +
            "))";
    at_ += 2;
  }

  // \p{Han}: PCRE2 takes a bare script name to include the script's extensions.
  void property() {
    const std::size_t end = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || end == std::string_view::npos) return copy(2);
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    if (is_script(name)) {
      out_ += std::string(pattern_.substr(at_, 3)) + (negated ? "^" : "") + "sc:" + std::string(name) + "}";
      at_ = end + 1;
    } else {
      copy(end + 1 - at_);
    }
  }

  // General categories have one or two letters; of the longer names, these are not scripts.
  static bool is_script(std::string_view name) {
    static constexpr std::array<std::string_view, 8> properties = {
        "Any", "Alphabetic", "Uppercase", "Lowercase", "White_Space", "Emoji", "Ideographic", "Extended_Pictographic"};
    if (name.size() < 3) return false;
    for (std::string_view property : properties)
      if (property == name) return false;
    return true;
  }

  void brackets() {
    copy(starts_with("[^") ? 2 : 1);
    if (starts_with("]")) copy(1);
    while (!starts_with("]")) {
      if (at_ >= pattern_.size()) return;  // PCRE2 reports the error
      if (starts_with("[:")) {
        posix_set();
      } else if (starts_with("[") || starts_with("&&")) {
        refuse("a pattern without sets inside sets and without && in brackets");
      } else if (starts_with("\\")) {
        escape(/*in_brackets=*/true);
      } else {
        copy(1);
      }
    }
    copy(1);
  }

  void posix_set() {
    for (const NamedSet& set : kPosixSets) {
      const std::string written = "[:" + std::string(set.name) + ":]";
      if (!starts_with(written)) continue;
      out_ += set.members;
      at_ += written.size();
      return;
    }
    refuse("a pattern with [:alpha:], [:alnum:], [:digit:], [:lower:], [:upper:], [:punct:], [:space:] or [:word:]");
  }

  std::string_view pattern_;
  const std::string& place_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string to_pcre2_syntax(std::string_view pattern, const std::string& place) {
  return Rewriter(pattern, place).rewrite();
}

}  // namespace isentropic::tokenizer
