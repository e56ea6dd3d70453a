// Rewrites patterns of tokenizer files, written for Oniguruma (Ruby's syntax), for PCRE2.
//
// The two are mostly the same. Constructs that differ are expanded to keep their Oniguruma meaning:
//   \s \S \w \W \d \D \h \H   as sets of Unicode characters, inside and outside brackets (\h is a hexadecimal digit)
//   \b \B                     boundaries of those words
//   \p{Han}                   a script, without its extensions
//   [:alpha:] and the like    Unicode sets
//   {,3}                      {0,3}
// Nested sets and && in brackets would mean something else to PCRE2 and are rejected. Letters and digits added after
// PCRE2's Unicode version (14.0 in 10.42) belong to no set.
#pragma once

#include <string>
#include <string_view>

namespace isentropic::tokenizer {

// `place` names the pattern in the Error thrown for constructs that cannot be rewritten.
std::string to_pcre2_syntax(std::string_view pattern, const std::string& place);

}  // namespace isentropic::tokenizer
