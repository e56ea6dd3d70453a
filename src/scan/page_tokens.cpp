// The text of a page: the beginning of every stretch, and where special tokens stand.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "scan/page_data.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTokensOfStretch = 32, kSpecialTokens = 64, kLongestToken = 40;

// <s>, </s>, <|endoftext|>, [CLS]: how tokenizers write what is not text.
bool looks_special(const std::string& token) {
  if (token.size() < 3 || token.size() > kLongestToken) return false;
  const bool angles = token.front() == '<' && token.back() == '>',
             squares = token.front() == '[' && token.back() == ']';
  if (!angles && !squares) return false;
  return std::all_of(token.begin() + 1, token.end() - 1, [&](char c) {
    const bool is_capital = c >= 'A' && c <= 'Z', is_small = c >= 'a' && c <= 'z', is_digit = c >= '0' && c <= '9';
    return is_capital || c == '_' || (angles && (is_small || is_digit || c == '|' || c == '/' || c == '-'));
  });
}

}  // namespace

// UTF-8 is not cut within one.
std::string cut_token(const std::string& token) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(token[i]) & 0xC0u) != 0x80u;
    if ((begins && ++characters > kLongestToken) || i >= 4 * kLongestToken) return token.substr(0, i) + "…";
  }
  return token;
}

Json page_tokens(const Result& result) {
  const std::vector<std::string>& tokens = result.tokens_of_window;
  const std::size_t points = std::min(kCurvePoints, tokens.size());
  Json stretches = Json::array(), special = Json::array();
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t begin = (i * tokens.size() + points - 1) / points;
    const std::size_t end = ((i + 1) * tokens.size() + points - 1) / points;
    stretches.push_back(Json::array());
    for (std::size_t t = begin; t < std::min(end, begin + kTokensOfStretch); ++t)
      stretches.back().push_back(cut_token(tokens[t]));
  }
  for (std::size_t t = 0; t < tokens.size() && special.size() < kSpecialTokens; ++t)
    if (looks_special(tokens[t])) special.push_back(t);
  return {{"count", tokens.size()}, {"stretches", stretches}, {"special", special}};
}

}  // namespace isentropic::scan
