// An encoder and a decoder learn to reverse a sequence: which attention becomes sharp, when, and how sharp?
//
// The source is n symbols and an end mark; the decoder begins with a start mark and must write the symbols in reverse
// and then the end mark. Every step has one n from 1 to `length`. Ideal cross-attention rests on one token of the
// source, H = 0; equal weights have H = log(n + 1).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/variants.hpp"

namespace isentropic::lab::seq2seq {

struct Study {
  // log_n:kappa=1.82 equals 1 / sqrt d at the 9 tokens of the longest source with head width 16.
  VariantOptions variants = {.scales = {"inverse_sqrt_d", "log_n:kappa=1.82", "log_n_sqrt_d"},
                             .steps = 500,
                             .batch = 32,
                             .width = 32,
                             .heads = 2,
                             .examples = 256,
                             .learning_rate = 4e-3};
  std::int64_t length = 8, symbols = 8;
  std::vector<std::int64_t> lengths = {8, 12, 16};  // of tests
  std::string positions_from = "end";               // source positions are counted from its start or its end
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, variants, length, symbols, lengths, positions_from)

// Means over rows and inputs, by layer and head. Normalised: H / log k, where k is the number of keys a row sees.
struct AttentionEntropy {
  std::vector<std::vector<double>> entropy = {}, normalised = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AttentionEntropy, entropy, normalised)

// Given the correct symbols so far (teacher forcing). A sequence with every symbol right is also what greedy decoding
// would produce.
struct Measured {
  std::int64_t n = 0;
  double symbols_right = 0, sequences_right = 0;  // fractions, end marks included
  AttentionEntropy encoder = {}, decoder = {}, cross = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, n, symbols_right, sequences_right, encoder, decoder, cross)

// Throws Error if the study is invalid, before anything runs.
void check_study(const Study& study);
MakeLearner learners_of(const Study& study);

std::string text_tables(const Study& study, const std::vector<VariantLog>& logs);
std::string page(const Study& study, const std::vector<VariantLog>& logs);
std::string picture(const Study& study, const std::vector<VariantLog>& logs);  // SVG

}  // namespace isentropic::lab::seq2seq
