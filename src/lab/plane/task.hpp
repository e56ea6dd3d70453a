// What the networks of the information plane learn: inputs, their labels, and which of them are for training.
//
// The built-in task, after Shwartz-Ziv and Tishby 2017: all 4096 inputs x of twelve signs, H(X) = 12 bits. With a
// symmetric matrix J and a vector b of normal numbers, drawn once,
//
//   f(x) = x' J x + .01 b' x,   P(y = 1 | x) = (1 + tanh(4 (f - median) / deviation)) / 2,
//
// and one label is drawn per input and kept: Y is a function of X, and H(Y) is near 1 bit.
//
// From a file: *.mat with a matrix of inputs, one per row, and a vector with as many labels; or a table (io/read.hpp)
// whose last column is the label. Inputs are used as they are, labels are numbered by their distinct values. Four
// fifths of the inputs, drawn once, are for training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::lab {

struct PlaneTask {
  std::string name = {};
  information::Table inputs = {};         // one per row
  std::vector<std::int64_t> labels = {};  // 0 ... classes - 1
  std::int64_t classes = 0;
  std::vector<std::int64_t> train = {}, test = {};  // rows

  double input_bits() const;  // H(X): of distinct rows
  double label_bits() const;
  std::uint64_t fingerprint() const;  // of inputs and labels
};

// An empty path: the built-in task. Throws Error if the file is unreadable, has no label, or one class or too many.
PlaneTask plane_task(const std::string& path);

}  // namespace isentropic::lab
