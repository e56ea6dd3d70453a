// Tokenizers written out as JSON, and the errors they cause.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "support/complaint.hpp"
#include "tokenizer/tokenizer.hpp"

namespace isentropic::tokenizer {

using Json = nlohmann::json;

// Characters a, b, c and space as ids 0 to 3, with the rules (a b), (ab a): ids 4 and 5.
inline Json small_bpe() {
  return Json::parse(R"({"model": {"type": "BPE",
      "vocab": {"a": 0, "b": 1, "c": 2, " ": 3, "ab": 4, "aba": 5}, "merges": ["a b", ["ab", "a"]]}})");
}

inline Json added_token(const std::string& content, int id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", false}};
}

inline Tokenizer tokenizer_of(const Json& json) { return Tokenizer::from_json(json.dump()); }

using support::complaint;

}  // namespace isentropic::tokenizer
