// Scans a model of src/model: runs it over windows of texts and tells scan/ what its attention does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/transformer.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

struct ScanText {
  std::string name;
  std::vector<std::int32_t> ids;  // without special tokens
};

struct ScanOptions {
  std::int64_t length = 0;  // of a window, special tokens included
  // What the tokenizer puts around a text: every window gets it.
  std::vector<std::int32_t> prefix = {}, suffix = {};
  bool keep_rows = false;                  // scan/scanner.hpp
  bool key_mass = true;                    // the second pass
  std::int64_t sampled_rows = 32;          // of each kind (scan/measurement.hpp)
  std::vector<std::int64_t> lengths = {};  // rising; compared over the first text
  std::function<void(double share)> progress = nullptr;
};

// Special tokens of a window.
std::int64_t tokens_around(const ScanOptions& options);
// The window whose text begins at token `from`, with what the tokenizer puts around it.
std::vector<std::int32_t> window_of(const ScanText& text, std::int64_t from, std::int64_t length,
                                    const ScanOptions& options);

// Throws Error for a text that does not fill a window of every length.
void check_lengths(const std::vector<ScanText>& texts, const ScanOptions& options);

// What a window of this length takes beside the weights, in bytes.
std::int64_t scan_memory(const model::Description& model, std::int64_t length);

// `about` says what is known of model and text.
scan::Result scan_model(const model::Transformer& model, scan::Result about, const std::vector<ScanText>& texts,
                        const ScanOptions& options);

}  // namespace isentropic::lab
