// Writes a trained tokenizer with the fields in the order used by Hugging Face's tokenizers.
#include <nlohmann/json.hpp>

#include "io/output_file.hpp"
#include "tokenizer/bpe_trainer.hpp"

namespace isentropic::tokenizer {
namespace {

using Json = nlohmann::ordered_json;

Json added_token(const std::string& content, std::size_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json byte_level(bool add_prefix_space) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"trim_offsets", true}, {"use_regex", true}};
}

// Appends directly: inserting through Json would search all members before adding each one.
Json vocabulary(const std::vector<std::string>& tokens) {
  Json::object_t members;
  for (std::size_t id = 0; id < tokens.size(); ++id) members.emplace_back(tokens[id], id);
  return members;
}

}  // namespace

std::string ByteLevelBpe::to_json() const {
  Json added = Json::array();
  for (std::size_t id = 0; id < special_tokens.size(); ++id) added.push_back(added_token(special_tokens[id], id));
  Json pairs = Json::array();
  for (const auto& [left, right] : merges)
    pairs.push_back({tokens[static_cast<std::size_t>(left)], tokens[static_cast<std::size_t>(right)]});
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", vocabulary(tokens)},
                      {"merges", std::move(pairs)}};
  const Json all = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", std::move(added)},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byte_level(add_prefix_space)},
                    {"post_processor", nullptr},
                    {"decoder", byte_level(true)},
                    {"model", model}};
  return all.dump(2) + "\n";
}

void ByteLevelBpe::write(const std::string& argument, const std::string& path) const {
  io::write_file(argument, path, to_json());
}

}  // namespace isentropic::tokenizer
