// Finds all matches of a literal text or a regular expression in a text, from left to right without overlap.
//
// Regular expressions mean what Oniguruma makes of them in Hugging Face's tokenizers (oniguruma_syntax.hpp); PCRE2 runs
// them, JIT-compiled where possible. Runaway backtracking is an Error.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

class Pattern {
 public:
  static Pattern literal(std::string text);
  // Throws Error naming `place` if PCRE2 rejects the expression.
  static Pattern regex(std::string_view expression, const std::string& place);
  // {"String": "..."} or {"Regex": "..."}
  static Pattern from(const Field& field);

  // The state of a search.
  struct Search {
    std::string_view text;           // valid UTF-8
    std::size_t start = 0, end = 0;  // of the match
    std::size_t position = 0;        // to continue from
    std::optional<std::size_t> last_end = {};
  };
  // Moves to the next match; returns false if there is none. Matches may be empty, except where the previous one ended.
  bool next(Search* search) const;

 private:
  struct Code;  // compiled by PCRE2

  bool next_literal(Search* search) const;
  bool match(Search* search) const;

  std::string literal_, place_;
  std::shared_ptr<const Code> code_;  // null for a literal
};

}  // namespace isentropic::tokenizer
