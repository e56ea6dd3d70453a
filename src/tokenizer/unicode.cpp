// Queries ICU, and corrects for characters whose category has changed since the Unicode version that applies.
#include "tokenizer/unicode.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <array>
#include <vector>

#include "isentropic/error.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

UChar32 icu_character(char32_t c) { return static_cast<UChar32>(c); }

bool has_category(char32_t c, std::uint32_t mask) { return (U_GET_GC_MASK(icu_character(c)) & mask) != 0; }

bool is_assigned_in(char32_t c, int version) {
  UVersionInfo age;
  u_charAge(icu_character(c), age);
  return age[0] != 0 && (age[0] < version || (age[0] == version && age[1] == 0));
}

template <std::size_t size>
bool contains(const std::array<char32_t, size>& list, char32_t c) {
  return std::ranges::find(list, c) != list.end();
}

bool is_ascii_symbol(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void check(UErrorCode status, const char* what) {
  if (U_FAILURE(status)) throw Error(what, u_errorName(status), "success of ICU");
}

// Characters unknown to Unicode 9.0 have no normal form of their own.
const icu::UnicodeSet& unicode_9() {
  static const icu::UnicodeSet set = [] {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet out(u"[:age=9.0:]", status);
    check(status, "the set of characters of Unicode 9.0");
    out.freeze();
    return out;
  }();
  return set;
}

const icu::Normalizer2& normaliser_of(NormalForm form) {
  static const auto all = [] {
    UErrorCode status = U_ZERO_ERROR;
    const std::array<const icu::Normalizer2*, 4> current = {
        icu::Normalizer2::getNFCInstance(status), icu::Normalizer2::getNFDInstance(status),
        icu::Normalizer2::getNFKCInstance(status), icu::Normalizer2::getNFKDInstance(status)};
    check(status, "the tables of normal forms");
    std::vector<icu::FilteredNormalizer2> out;
    for (const icu::Normalizer2* normaliser : current) out.emplace_back(*normaliser, unicode_9());
    return out;
  }();
  return all[static_cast<std::size_t>(form)];
}

// Normalisation sorts every run of marks by combining class, which ICU does by insertion: a run as long as the text
// would take quadratic time. Sorting long runs first does not change the result.
constexpr std::size_t kLongRun = 64;

std::string sort_long_runs_of_marks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::vector<std::pair<int, char32_t>> run;
  const auto end_run = [&] {
    if (run.size() > kLongRun) std::ranges::stable_sort(run, {}, &std::pair<int, char32_t>::first);
    for (const auto& [combining_class, c] : run) append_code_point(c, &out);
    run.clear();
  };
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, &i);
    const int combining_class = c < 0x300 || !is_assigned_in(c, 9) ? 0 : u_getCombiningClass(icu_character(c));
    if (combining_class != 0) {
      run.emplace_back(combining_class, c);
      continue;
    }
    end_run();
    append_code_point(c, &out);
  }
  end_run();
  return out;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

bool is_white_space(char32_t c) { return u_isUWhiteSpace(icu_character(c)); }

bool is_number(char32_t c) { return has_category(c, U_GC_N_MASK); }

bool is_word_character(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  return u_hasBinaryProperty(icu_character(c), UCHAR_ALPHABETIC) ||
         has_category(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(icu_character(c), UCHAR_JOIN_CONTROL);
}

bool is_punctuation(char32_t c) {
  static constexpr std::array<char32_t, 2> no_longer = {0x166D, 0x111C9};
  if (c < 0x80) return is_ascii_symbol(c);
  return contains(no_longer, c) || (has_category(c, U_GC_P_MASK) && is_assigned_in(c, 8));
}

bool is_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return has_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK) && is_assigned_in(c, 8);
}

bool is_nonspacing_mark(char32_t c) {
  static constexpr std::array<char32_t, 4> not_yet = {0x1885, 0x1886, 0xA9BD, 0x111C9};
  if (c == 0x1734) return true;  // Mc since Unicode 14
  return has_category(c, U_GC_MN_MASK) && is_assigned_in(c, 8) && !contains(not_yet, c);
}

bool is_mark(char32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // Lo since Unicode 12
  return has_category(c, U_GC_M_MASK) && is_assigned_in(c, 9) && c != 0x111C9;
}

bool is_cjk_ideograph(char32_t c) {
  struct Block {
    char32_t first, last;
  };
  static constexpr std::array<Block, 7> blocks = {{{0x3400, 0x4DBF},
                                                   {0x4E00, 0x9FFF},
                                                   {0xF900, 0xFAFF},
                                                   {0x20000, 0x2A6DF},
                                                   {0x2A700, 0x2B81F},
                                                   {0x2B920, 0x2CEAF},
                                                   {0x2F800, 0x2FA1F}}};
  return std::ranges::any_of(blocks, [c](const Block& block) { return c >= block.first && c <= block.last; });
}

void append_lowercase(char32_t c, std::string* out) {
  if (c == 0x130) {
    out->append("i\u0307");
    return;
  }
  append_code_point(static_cast<char32_t>(u_tolower(icu_character(c))), out);
}

std::string normalise(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const std::string sorted = sort_long_runs_of_marks(text);
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode status = U_ZERO_ERROR;
  normaliser_of(form).normalizeUTF8(0, sorted, sink, nullptr, status);
  check(status, "the normal form of a text");
  return out;
}

}  // namespace isentropic::tokenizer
