// One test description, two problems: one for the library and one for the oracle, built from the same numbers.
//
//   Case c{.sizes = {.heads = 4, .kv_heads = 2, .n_q = 7, .n_k = 9, .d = 5, .d_v = 3},
//          .parts = {causal(), log_n(), softmax()}};
//   Instance instance = build(c);
//   expect_forward(instance);          // checks.hpp
//
// A part changes both problems in the same way (parts.hpp lists them).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "isentropic/attention.hpp"
#include "reference/problem.hpp"
#include "support/random.hpp"

namespace support {

using isentropic::DType;
using isentropic::Shape;
using isentropic::View;
using reference::Numbers;

struct Sizes {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, n_q = 1, n_k = 1, d = 1, d_v = 1;
};

// contiguous: [batch, heads, n, d]. interleaved: a view of [batch, n, heads, d + 3], the layout that projections
// produce; the gaps between the rows are NaN.
enum class Layout { contiguous, interleaved };

struct Instance {
  explicit Instance(std::uint64_t seed) : random(seed) {}
  Instance(Instance&&) = default;

  isentropic::AttentionProblem problem;
  reference::Problem oracle;
  Sizes sizes;
  DType type = DType::float64;
  Random random;

  // Rounds *numbers to the type in place, stores a copy in that type, and returns a view of it.
  View store(Numbers* numbers, const Shape& shape, DType as, Layout layout = Layout::contiguous);
  View store(Numbers* numbers, const Shape& shape) { return store(numbers, shape, type); }
  View store_flags(const std::vector<char>& flags, const Shape& shape);
  View store_integers(const std::vector<std::int64_t>& integers, const Shape& shape);

  // Every byte given to the library, to check that it changed none.
  std::vector<std::vector<std::byte>> snapshot() const { return {storage_.begin(), storage_.end()}; }

 private:
  std::byte* allocate(std::size_t bytes);
  std::deque<std::vector<std::byte>> storage_;
};

struct Part {
  std::string name;
  std::function<void(Instance&)> apply;
};

struct Case {
  Sizes sizes = {};
  std::vector<Part> parts = {};
  DType type = DType::float64;
  Layout layout = Layout::contiguous;
  double amplitude = 1;  // of queries and keys
  std::uint64_t seed = 1;

  std::string describe() const;  // for SCOPED_TRACE
};

Instance build(const Case& description);

std::size_t count(const Shape& shape);  // number of entries

// The value rounded to the type; the type's lowest value.
double rounded(double value, DType type);
double lowest(DType type);

// Broadcasts axes of length 1 to their full length, and its transpose: sums over repeated entries.
template <class T>
std::vector<T> expanded(const std::vector<T>& numbers, const Shape& from, const Shape& to);
Numbers reduced(const Numbers& numbers, const Shape& from, const Shape& to);

}  // namespace support
