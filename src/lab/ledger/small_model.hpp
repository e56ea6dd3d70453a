// A language model small enough to train in seconds, on a generated text whose rule is known.
//
// The text has 16 symbols. Nine times in ten a symbol is a function of the two before it, drawn once, and else any of
// the 16: a model needs attention to the symbol before the last, and can lower its loss to
//
//   -p log p - 15 q log q,   p = .9 + .1/16, q = .1/16:   0.565 nats
//
// A short text is learnt by heart as well, noise and all, and then the loss on new text rises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isentropic/pytorch/regularisers.hpp"
#include "isentropic/scale.hpp"
#include "lab/corpus.hpp"
#include "model/transformer.hpp"

namespace isentropic::lab {

inline constexpr std::int64_t kSymbols = 16;

// So many symbols to train on and 8192 to validate on, of one rule.
Corpus small_text(std::int64_t train, std::uint64_t seed);
double least_loss();  // the entropy of a symbol given the rule and the two before it

struct SmallRun {
  std::int64_t train = 4096, steps = 600, length = 32;
  std::string positions = "rotary";
  Scale scale = Scale::inverse_sqrt_d();
  double entropy_weight = 0;
  pytorch::Direction direction = pytorch::Direction::encourage;
  std::uint64_t seed = 1;
};

// At a moment of training.
struct Moment {
  std::int64_t step = 0;
  double loss = 0;              // of the batch
  double validation = 0;        // on held-out text
  std::vector<double> entropy;  // of each layer: mean over heads of H over log of the visible keys

  double mean_entropy() const;
};

struct SmallResult {
  std::vector<Moment> moments;  // at step 1, and at every twentieth of the run
  Corpus corpus;
  model::Transformer model;
};

SmallResult train_small(const SmallRun& run);

// The mean loss on new text of a length and the mean entropy of its last row over layers and heads, in nats.
struct AtLength {
  double loss = 0, entropy = 0;
};
AtLength at_length(const model::Transformer& model, const Corpus& corpus, std::int64_t length);

}  // namespace isentropic::lab
