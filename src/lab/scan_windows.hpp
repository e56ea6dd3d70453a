// The windows of a scan, and the loss on them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/transformer.hpp"

namespace isentropic::lab {

struct ScanText {
  std::string name;
  std::vector<std::int32_t> ids;  // without special tokens
};

struct ScanOptions {
  std::int64_t length = 0;  // of a window, special tokens included
  // Special tokens that the tokenizer puts around a text; every window gets them.
  std::vector<std::int32_t> prefix = {}, suffix = {};
  bool keep_rows = false;                  // scan/scanner.hpp
  bool key_mass = true;                    // the second pass
  std::int64_t sampled_rows = 32;          // of each kind (scan/measurement.hpp)
  std::vector<std::int64_t> lengths = {};  // increasing; compared on the first text
  std::function<void(double share)> progress = nullptr;
};

// The number of special tokens in a window.
std::int64_t tokens_around(const ScanOptions& options);
// The window whose text begins at token `from`, with the special tokens around it.
std::vector<std::int32_t> window_of(const ScanText& text, std::int64_t from, std::int64_t length,
                                    const ScanOptions& options);

// The number of windows of options.length that a text fills, and one of them.
std::int64_t windows_of(const ScanText& text, const ScanOptions& options);
std::vector<std::int32_t> window_number(std::int64_t number, const ScanText& text, const ScanOptions& options);

// ---- Lengths: the same last tokens of the first text after contexts of increasing length ----

// The number of windows of the longest length, at most four: enough for a mean.
std::int64_t length_windows(const ScanText& first, const ScanOptions& options);
// One of them, cut to its last `length` tokens.
std::vector<std::int32_t> length_window(std::int64_t number, const ScanText& first, std::int64_t length,
                                        const ScanOptions& options);
// The number of last tokens that are compared.
std::int64_t compared_tokens(const ScanOptions& options);

// Throws Error if a text does not fill a window of every length.
void check_lengths(const std::vector<ScanText>& texts, const ScanOptions& options);

// ---- Running windows ----

// [1, n] int64.
at::Tensor batch_of(const std::vector<std::int32_t>& ids, at::Device device);
bool predicts_next_token(const model::Transformer& model);
// Mean loss of the last `scored` tokens; NaN for a model that does not predict the next token.
double loss_of(const model::Transformer& model, const at::Tensor& hidden, const at::Tensor& ids, std::int64_t scored);

}  // namespace isentropic::lab
