// Encodes and decodes texts for comparison with Hugging Face's tokenizers, or trains on them.
//
//   tokenizer_lines encode TOKENIZER_JSON < texts     each line a text as a JSON string; for each, a JSON object
//   tokenizer_lines train SIZE SPECIAL... < texts     a tokenizer.json
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isentropic/error.hpp"
#include "tokenizer/bpe_trainer.hpp"
#include "tokenizer/tokenizer.hpp"

namespace {

using isentropic::tokenizer::StreamDecoder;
using isentropic::tokenizer::Tokenizer;
using nlohmann::json;

std::string streamed(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  StreamDecoder stream(tokenizer);
  std::string out;
  for (const std::int32_t id : ids) out += stream.put(id);
  return out + stream.finish();
}

json answer(const Tokenizer& tokenizer, const std::string& text) {
  try {
    const auto ids = tokenizer.encode(text);
    return {{"ids", ids},
            {"plain", tokenizer.encode(text, false)},
            {"decoded", tokenizer.decode(ids)},
            {"skipped", tokenizer.decode(ids, true)},
            {"streamed", streamed(tokenizer, ids)}};
  } catch (const isentropic::Error& error) {
    return {{"error", error.what()}};
  }
}

std::vector<std::string> texts_of_input() {
  std::vector<std::string> out;
  for (std::string line; std::getline(std::cin, line);) out.push_back(json::parse(line).get<std::string>());
  return out;
}

void encode(const std::string& path) {
  const Tokenizer tokenizer = Tokenizer::read(path);
  for (const std::string& text : texts_of_input()) std::cout << answer(tokenizer, text).dump() << "\n";
}

void train(std::size_t size, std::vector<std::string> special_tokens) {
  const std::vector<std::string> texts = texts_of_input();
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::cout << isentropic::tokenizer::train_byte_level_bpe(views, size, {.special_tokens = std::move(special_tokens)})
                   .to_json();
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.at(0) == "train")
      train(std::stoul(words.at(1)), {words.begin() + 2, words.end()});
    else
      encode(words.at(1));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
