// The texts of a page, read and written: the beginning of every stretch, the positions of special tokens, and the
// tokens that drawings name.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scan/page_data.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTokensOfStretch = 32, kSpecialTokens = 64, kLongestToken = 40;

// <s>, </s>, <|endoftext|>, [CLS]: the forms in which tokenizers write special tokens.
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

// Positions of the tokens that tiles and rows name, in the text read and in the text an encoder-decoder wrote.
struct NamedPositions {
  std::set<std::int64_t> read, written;
};

NamedPositions named_positions(const Result& result, const std::vector<bool>& in_full) {
  NamedPositions out;
  for (std::size_t i = 0; i < result.heads.size(); ++i) {
    if (!in_full[i]) continue;
    const HeadResult& head = result.heads[i];
    const Kind kind = result.layers[head.layer].description.kind;
    std::set<std::int64_t>& rows = result.rows_are_written(kind) ? out.written : out.read;
    std::set<std::int64_t>& keys = result.keys_are_written(kind) ? out.written : out.read;
    for (std::size_t row = 0; row < head.tile.weights.size(); ++row)
      rows.insert(head.tile.first_row + static_cast<std::int64_t>(row));
    for (std::size_t key = 0; !head.tile.weights.empty() && key < head.tile.weights.front().size(); ++key)
      keys.insert(head.tile.first_key + static_cast<std::int64_t>(key));
    for (const ExactRow& row : head.exact_rows) {
      rows.insert(row.position);
      for (const KeyWeight& key : row.keys) keys.insert(key.position);
    }
  }
  return out;
}

Json stretches_of(const std::vector<std::string>& tokens) {
  const std::size_t points = std::min(kCurvePoints, tokens.size());
  Json out = Json::array();
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t begin = stretch_begin(i, tokens.size(), points),
                      end = stretch_begin(i + 1, tokens.size(), points);
    out.push_back(Json::array());
    for (std::size_t t = begin; t < std::min(end, begin + kTokensOfStretch); ++t)
      out.back().push_back(cut_token(tokens[t]));
  }
  return out;
}

Json text_json(const std::vector<std::string>& tokens, const std::set<std::int64_t>& named_positions) {
  Json special = Json::array(), named = Json::object();
  for (std::size_t t = 0; t < tokens.size() && special.size() < kSpecialTokens; ++t)
    if (looks_special(tokens[t])) special.push_back(t);
  for (const std::int64_t position : named_positions)
    if (position < std::ssize(tokens))
      named[std::to_string(position)] = cut_token(tokens[static_cast<std::size_t>(position)]);
  return {{"count", tokens.size()}, {"stretches", stretches_of(tokens)}, {"special", special}, {"named", named}};
}

}  // namespace

// Does not split UTF-8 characters.
std::string cut_token(const std::string& token) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(token[i]) & 0xC0u) != 0x80u;
    if ((begins && ++characters > kLongestToken) || i >= 4 * kLongestToken) return token.substr(0, i) + "…";
  }
  return token;
}

Json page_tokens(const Result& result, const std::vector<bool>& in_full) {
  const NamedPositions positions = named_positions(result, in_full);
  return {{"read", text_json(result.tokens_of_window, positions.read)},
          {"written", text_json(result.written_of_window, positions.written)}};
}

}  // namespace isentropic::scan
