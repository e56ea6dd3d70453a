// A code of a few symbols trained by gradient descent: encoder p(z|x), decoder q(y|z) and prior r(z) are tables of
// softmax logits, and every expectation is an exact sum, so that only the loss determines where descent leads. In nats.
//
//   loss = a E[-log q(y|z)] + b E_x KL(p(z|x) || r) + c I(X;Z) + e I(Z;Y)
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

// The decoder's input. If it is X itself, its likelihood does not depend on the code.
enum class DecoderInput : std::uint8_t { code, input };

struct CodeLoss {
  double surprise = 1;       // a
  double rate = 0;           // b
  double information_x = 0;  // c
  double information_y = 0;  // e
  DecoderInput decoder = DecoderInput::code;
};

struct Training {
  std::size_t codes = 4;
  std::int64_t steps = 3000;
  double learning_rate = .05;
  double spread = 1;  // of the initial logits
};

struct TabularCode {
  information::Table encoder, decoder;  // each row is a distribution: p(z|x); q(y|z) or q(y|x)
  std::vector<double> prior;
  double loss = 0;
  double information_x = 0, information_y = 0;  // I(X;Z), I(Z;Y)
};

// joint: p(x, y), x along the rows.
TabularCode train_code(const information::Table& joint, const CodeLoss& loss, const Training& training, Random& random);
// The lowest loss of several starts: a single descent may stop at a local optimum.
TabularCode train_code(const information::Table& joint, const CodeLoss& loss, const Training& training, Random& random,
                       std::int64_t starts);

// The code at the start of training and at `points` equally spaced steps.
std::vector<TabularCode> training_path(const information::Table& joint, const CodeLoss& loss, const Training& training,
                                       Random& random, std::int64_t points);

// p(z, y) of an encoder.
information::Table joint_of_code(const information::Table& joint, const information::Table& encoder);

}  // namespace isentropic::experiments::tools
