// Documents as tokens, for networks that are trained and tested inside them; kept in the folder of a study, so that it
// goes on without its texts, on another machine too.
//
//   DIR/tokenizer.json          byte-level BPE, trained on the first 8 MB of all documents, tested ones among them
//   DIR/documents.safetensors   tokens of 16 bits: "train", and a row for each document of "tuning" and "test"
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/corpus.hpp"
#include "lab/length/study.hpp"

namespace isentropic::lab::length {

struct Documents {
  std::vector<std::int32_t> train = {};                            // whole documents, each with an end
  std::vector<std::vector<std::int32_t>> tuning = {}, tests = {};  // the first longest() + 1 tokens of others
  std::int64_t vocabulary = 0;
  std::string tokenizer = {};  // as JSON, of those that were just read
};

// Files below folders are documents; so are files that are named. Which ones are tested on, tuned on and trained on
// follows from the seed. Those that are not UTF-8, and those too short to be tested on, are trained on or left out:
// `say` tells. Throws Error where there are too few.
Documents read_documents(const Study& study, const std::function<void(const std::string&)>& say);
void save_documents(const std::string& folder, const Documents& documents);
// What the call above has written. Throws Error unless they are those of the study.
Documents stored_documents(const std::string& folder, const Study& study);

// Training text and the documents to tune with, one after the other.
Corpus corpus_of(const Documents& documents);

}  // namespace isentropic::lab::length
