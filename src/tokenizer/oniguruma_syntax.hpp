// Patterns of tokenizer files are written for Oniguruma (Ruby's syntax); this rewrites them for PCRE2.
//
// Most of both is the same. What differs is written out, so that it means what it means there:
//   \s \S \w \W \d \D \h \H   as sets of characters of Unicode, inside and outside brackets (\h is a hexadecimal digit)
//   \b \B                     borders of those words
//   \p{Han}                   a script, not its extensions
//   [:alpha:] and the like    sets of Unicode
//   {,3}                      {0,3}
// Sets inside sets and && in brackets would mean something else to PCRE2 and are refused. Letters and digits that came
// after the Unicode version of PCRE2 (14.0 in 10.42) belong to no set.
#pragma once

#include <string>
#include <string_view>

namespace isentropic::tokenizer {

// `place` names the pattern in the Error for what cannot be rewritten.
std::string to_pcre2_syntax(std::string_view pattern, const std::string& place);

}  // namespace isentropic::tokenizer
