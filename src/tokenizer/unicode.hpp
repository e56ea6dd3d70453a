// Character properties, letter case and normal forms, from ICU.
//
// Hugging Face's tokenizers carries tables of several Unicode versions. Where an older version applies (8.0 for BERT,
// 9.0 for normal forms and StripAccents), newer characters are left alone here too. Where a version newer than ICU's
// applies, characters that ICU does not know count as unassigned.
#pragma once

#include <string>
#include <string_view>

namespace isentropic::tokenizer {

bool is_white_space(char32_t c);      // White_Space
bool is_number(char32_t c);           // general category N
bool is_word_character(char32_t c);   // Alphabetic, M, Nd, Pc, Join_Control: \w of UTS #18
bool is_punctuation(char32_t c);      // P of Unicode 8.0, and ASCII symbols
bool is_control(char32_t c);          // Cc, Cf, Co of Unicode 8.0, except tab, newline and carriage return
bool is_nonspacing_mark(char32_t c);  // Mn of Unicode 8.0
bool is_mark(char32_t c);             // M of Unicode 9.0
bool is_cjk_ideograph(char32_t c);    // the blocks that BERT surrounds with spaces

// Independent of context and language; U+0130 becomes two characters.
void append_lowercase(char32_t c, std::string* out);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string normalise(std::string_view text, NormalForm form);

}  // namespace isentropic::tokenizer
