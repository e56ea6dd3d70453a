// Patterns run by PCRE2, with limits on time and memory.
#include "tokenizer/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"
#include "tokenizer/oniguruma_syntax.hpp"
#include "tokenizer/piece.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

// Backtracking steps per match, partly per byte of text, because a run of spaces may be as long as the text.
constexpr std::uint32_t kMatchLimit = 1'000'000, kMatchLimitForByte = 15;
constexpr std::uint32_t kHeapLimit = 64 * 1024;       // KiB, for an interpreted match
constexpr std::size_t kLargestStack = 16 << 20;       // bytes, for a JIT-compiled one
constexpr std::size_t kMaximumPatternSize = 1 << 16;  // bytes

std::string message_of(int code) {
  PCRE2_UCHAR text[160];
  return pcre2_get_error_message(code, text, sizeof(text)) < 0 ? "an error" : reinterpret_cast<const char*>(text);
}

// The buffers a match writes to: one set per thread.
struct Scratch {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, kLargestStack, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);

  Scratch() {
    if (data == nullptr || context == nullptr) throw std::bad_alloc();
    pcre2_set_heap_limit(context, kHeapLimit);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
    pcre2_match_data_free(data);
  }
};

Scratch& scratch_of_this_thread() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code;
};

Pattern Pattern::literal(std::string text) {
  if (text.empty()) return regex("", "an empty pattern");  // matches between all characters
  Pattern out;
  out.literal_ = std::move(text);
  return out;
}

Pattern Pattern::regex(std::string_view expression, const std::string& place) {
  if (expression.size() > kMaximumPatternSize)
    throw Error(place, "of " + std::to_string(expression.size()) + " bytes",
                "at most " + std::to_string(kMaximumPatternSize));
  const std::string rewritten = to_pcre2_syntax(expression, place);
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, context.get());
  if (code == nullptr) throw Error(place, io::excerpt(expression), "a regular expression (" + message_of(error) + ")");
  Pattern out;
  out.code_ = std::make_shared<const Code>(code);
  out.place_ = place;
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // if this fails, PCRE2 interprets
  return out;
}

Pattern Pattern::from(const Field& field) {
  if (const auto text = field.find("String")) return literal(text->string());
  if (const auto expression = field.find("Regex")) return regex(expression->string(), expression->place());
  field.refuse("an object with String or Regex");
}

bool Pattern::next_literal(Search* search) const {
  const std::size_t found = search->text.find(literal_, search->position);
  if (found == std::string_view::npos) return false;
  search->start = found;
  search->end = search->position = found + literal_.size();
  return true;
}

bool Pattern::match(Search* search) const {
  Scratch& scratch = scratch_of_this_thread();
  const auto size = static_cast<std::uint32_t>(std::min(search->text.size(), kMaximumTextSize));
  pcre2_set_match_limit(scratch.context, kMatchLimit + kMatchLimitForByte * size);
  const int result = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(search->text.data()), search->text.size(),
                                 search->position, PCRE2_NO_UTF_CHECK, scratch.data, scratch.context);
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) throw Error(place_, "too slow for this text (" + message_of(result) + ")", "less backtracking");
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(scratch.data);
  search->start = ends[0];
  search->end = ends[1];
  return true;
}

bool Pattern::next(Search* search) const {
  if (!code_) return next_literal(search);
  while (search->position <= search->text.size() && match(search)) {
    if (search->start != search->end || search->last_end != search->end) {
      search->position = search->end;
      search->last_end = search->end;
      return true;
    }
    const std::string_view rest = search->text.substr(search->position);
    search->position += rest.empty() ? 1 : first_code_point_length(rest);
  }
  return false;
}

}  // namespace isentropic::tokenizer
