// Tasks in which one token of many decides, at any length: what attention must find does not change as n grows.
//
//   first     whether the first symbol is 1: the language FIRST of Chiang and Cholak (2022). A token is a symbol, +1 or
//             -1, and a mark of the first position.
//   maximum   the class of the item with the highest priority (Velickovic et al., 2024): priorities are uniform.
//   needle    the class beside the one key that equals the query.
//   recall    the same with keys and classes as alternating tokens: a class must be found through the key before it.
//
// The last token of every input is the query; it is not one of the n.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::lab::retrieval {

struct Batch {
  at::Tensor inputs;   // [batch, n + 1, features]
  at::Tensor targets;  // [batch], classes
};

struct Task {
  std::string name, question;
  std::int64_t features = 0, classes = 0;
  std::int64_t layers = 1;  // that the network needs
  bool needs_positions = false;
  Batch (*draw)(std::int64_t batch, std::int64_t n, std::uint64_t seed) = nullptr;
};

const std::vector<Task>& tasks();
// Throws Error for an unknown name.
const Task& task_named(const std::string& name);

}  // namespace isentropic::lab::retrieval
