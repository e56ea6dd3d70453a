// Documents as tokens, for networks that are trained and tested on them; stored in the folder of a study, so that it
// can be resumed without its texts, on another machine too.
//
//   DIR/tokenizer.json          byte-level BPE, trained on the first 8 MB of all documents, test documents included
//   DIR/documents.safetensors   16-bit tokens: "train", and one row per document of "tuning" and "test"
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/corpus.hpp"
#include "lab/length/study.hpp"

namespace isentropic::lab::length {

struct Documents {
  std::vector<std::int32_t> train = {};                            // whole documents but for the last, with end tokens
  std::vector<std::vector<std::int32_t>> tuning = {}, tests = {};  // the first longest() + 1 tokens of others
  std::int64_t vocabulary = 0;
  std::string tokenizer = {};  // as JSON, set when documents have just been read
};

// Files in folders are documents, and so are files given by name. The seed decides which of them are for testing,
// tuning and training. Documents too short to test on are trained on; files that are not UTF-8 text are left out, and
// `say` reports how many. Throws Error if there are too few documents.
Documents read_documents(const Study& study, const std::function<void(const std::string&)>& say);
void save_documents(const std::string& folder, const Documents& documents);
// Reads what save_documents() wrote. Throws Error unless these are the documents of the study.
Documents stored_documents(const std::string& folder, const Study& study);

// The training text; and for validation the tuning documents, one after the other.
Corpus corpus_of(const Documents& documents);

}  // namespace isentropic::lab::length
