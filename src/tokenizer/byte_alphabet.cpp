// Both directions of the alphabet, as tables.
#include "tokenizer/byte_alphabet.hpp"

#include <array>

#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

constexpr char32_t kFirstOther = 0x100;
constexpr std::size_t kCharacters = 256 + 68;

constexpr bool is_printable(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<short, kCharacters> bytes{};  // -1: no byte

  constexpr Alphabet() {
    bytes.fill(-1);
    char32_t other = kFirstOther;
    for (unsigned byte = 0; byte < 256; ++byte) {
      characters[byte] = is_printable(byte) ? byte : other++;
      bytes[characters[byte]] = static_cast<short>(byte);
    }
  }
};

constexpr Alphabet kAlphabet;
static_assert(kAlphabet.characters[' '] == 0x120 && kAlphabet.characters['\n'] == 0x10A);

}  // namespace

char32_t character_of_byte(unsigned char byte) { return kAlphabet.characters[byte]; }

std::optional<unsigned char> byte_of_character(char32_t character) {
  if (character >= kCharacters || kAlphabet.bytes[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.bytes[character]);
}

void append_byte_characters(std::string_view text, std::string* out) {
  for (const char c : text) append_code_point(character_of_byte(static_cast<unsigned char>(c)), out);
}

}  // namespace isentropic::tokenizer
