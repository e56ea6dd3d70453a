// An encoder and a decoder learn to reverse a sequence: which attention becomes sharp, when, and how far does it go?
//
// The source is n symbols and an end mark; the decoder begins with a start mark and is to write the symbols in reverse
// and the end mark. Every step has one n of 1 to `length`. An ideal cross-attention rests on one token of the source,
// H = 0; equal weights have H = log(n + 1).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/variants.hpp"

namespace isentropic::lab::seq2seq {

struct Study {
  // log_n:kappa=1.82 is 1 / sqrt d at the 9 tokens of the longest source and 16 numbers of a head.
  VariantOptions variants = {.scales = {"inverse_sqrt_d", "log_n:kappa=1.82", "log_n_sqrt_d"},
                             .steps = 500,
                             .batch = 32,
                             .width = 32,
                             .heads = 2,
                             .examples = 256,
                             .learning_rate = 4e-3};
  std::int64_t length = 8, symbols = 8;
  std::vector<std::int64_t> lengths = {8, 12, 16};  // of the tests
  std::string places = "end";                       // of the source, counted from its start or its end
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, variants, length, symbols, lengths, places)

// Means over rows and inputs, by layer and head. Normalised: H / log k, k the keys that a row sees.
struct AttentionEntropy {
  std::vector<std::vector<double>> entropy = {}, normalised = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AttentionEntropy, entropy, normalised)

// With the right symbols written so far. A sequence that is right in every symbol is also what the decoder would write
// by itself, taking the likeliest symbol each time.
struct Measured {
  std::int64_t n = 0;
  double symbols_right = 0, sequences_right = 0;  // shares, end marks among them
  AttentionEntropy encoder = {}, decoder = {}, cross = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, n, symbols_right, sequences_right, encoder, decoder, cross)

// Throws Error for what cannot be run, before anything is.
void check_study(const Study& study);
MakeLearner learners_of(const Study& study);

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs);
std::string page(const Study& study, const std::vector<VariantLog>& logs);
std::string picture(const Study& study, const std::vector<VariantLog>& logs);  // SVG

}  // namespace isentropic::lab::seq2seq
