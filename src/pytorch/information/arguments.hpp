// Converts Python's arguments to those of a C++ function, by their types.
//
// Numbers, vectors and tables arrive as tensors (None for an omitted argument), words separately; each parameter of the
// C++ function takes the next ones. Numbers may be arrays: the function is then called once per element.
#pragma once

#include <ATen/ATen.h>

#include <concepts>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "attention/problem/problem_spec.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/table.hpp"
#include "isentropic/theory/sparsity.hpp"
#include "pytorch/executor.hpp"
#include "pytorch/information/words.hpp"

namespace isentropic::pytorch::bindings {

using information::Table;
using MaybeTensor = std::optional<at::Tensor>;

class Arguments {
 public:
  Arguments(const std::vector<MaybeTensor>& tensors, const Words& words, std::int64_t turn)
      : tensors_(tensors), words_(words), turn_(turn) {}

  const MaybeTensor& tensor() { return tensors_.at(next_tensor_++); }
  const std::string& word() { return words_.at(next_word_++); }

  template <class T>
  std::optional<T> number() {
    const MaybeTensor& all = tensor();
    if (!all) return std::nullopt;
    return all->const_data_ptr<T>()[all->numel() == 1 ? 0 : turn_];
  }
  // Empty for None.
  template <class T>
  std::vector<T> list() {
    const MaybeTensor& all = tensor();
    if (!all) return {};
    return {all->const_data_ptr<T>(), all->const_data_ptr<T>() + all->numel()};
  }

 private:
  const std::vector<MaybeTensor>& tensors_;
  const Words& words_;
  std::int64_t turn_;
  std::size_t next_tensor_ = 0, next_word_ = 0;
};

inline std::size_t size_of(const at::Tensor& tensor, int axis) { return static_cast<std::size_t>(tensor.size(axis)); }

// How a parameter of type T takes its arguments, and the kinds shown to Python: one word per Python argument.
template <class T>
struct Taken;

template <>
struct Taken<double> {
  static constexpr const char* kinds = "number";
  static double take(Arguments& arguments) { return arguments.number<double>().value(); }
};
template <>
struct Taken<std::optional<double>> {
  static constexpr const char* kinds = "number";
  static std::optional<double> take(Arguments& arguments) { return arguments.number<double>(); }
};
template <std::integral T>
struct Taken<T> {
  static constexpr const char* kinds = std::unsigned_integral<T> ? "count" : sizeof(T) < 8 ? "small" : "integer";
  static T take(Arguments& arguments) { return static_cast<T>(arguments.number<std::int64_t>().value()); }
};
template <class T>
requires std::is_enum_v<T>
struct Taken<T> {
  static constexpr const char* kinds = "word";
  static T take(Arguments& arguments) { return choice_of<T>(arguments.word()); }
};
template <>
struct Taken<std::string> {
  static constexpr const char* kinds = "word";
  static std::string take(Arguments& arguments) { return arguments.word(); }
};
template <>
struct Taken<std::span<const double>> {
  static constexpr const char* kinds = "vector";
  static std::vector<double> take(Arguments& arguments) { return arguments.list<double>(); }
};
template <>
struct Taken<std::span<const std::int64_t>> {
  static constexpr const char* kinds = "integers";
  static std::vector<std::int64_t> take(Arguments& arguments) { return arguments.list<std::int64_t>(); }
};
template <>
struct Taken<information::Variables> {
  static constexpr const char* kinds = "counts";
  static information::Variables take(Arguments& arguments) {
    const std::vector<std::int64_t> list = arguments.list<std::int64_t>();
    return {list.begin(), list.end()};
  }
};
template <>
struct Taken<Table> {
  static constexpr const char* kinds = "table";
  static Table take(Arguments& arguments) { return of(arguments.tensor()); }
  static Table of(const MaybeTensor& tensor) {
    if (!tensor) return {};
    const double* values = tensor->const_data_ptr<double>();
    return {size_of(*tensor, 0), size_of(*tensor, 1), std::vector<double>(values, values + tensor->numel())};
  }
};
template <>
struct Taken<std::span<const Table>> {
  static constexpr const char* kinds = "tables";
  static std::vector<Table> take(Arguments& arguments) {
    std::vector<Table> out;
    for (const at::Tensor& table : arguments.tensor().value().unbind()) out.push_back(Taken<Table>::of(table));
    return out;
  }
};
template <>
struct Taken<information::Joint> {
  static constexpr const char* kinds = "grid";
  static information::Joint take(Arguments& arguments) {
    const at::Tensor& p = arguments.tensor().value();
    return {{p.sizes().begin(), p.sizes().end()}, {p.const_data_ptr<double>(), p.const_data_ptr<double>() + p.numel()}};
  }
};
template <>
struct Taken<Scale> {
  static constexpr const char* kinds = "scale";
  static Scale take(Arguments& arguments) { return spec_from_json(arguments.word()).scale; }
};
template <>
struct Taken<theory::GaussianScores> {
  static constexpr const char* kinds = "number number";
  static theory::GaussianScores take(Arguments& arguments) {
    const double beta = Taken<double>::take(arguments);
    return {.beta = beta, .gamma = Taken<double>::take(arguments)};
  }
};

// Not passed by Python: work runs on PyTorch's threads, and progress is not reported.
template <>
struct Taken<Executor> {
  static constexpr const char* kinds = "";
  static TorchThreads take(Arguments&) { return {}; }
};
template <>
struct Taken<std::function<void(double)>> {
  static constexpr const char* kinds = "";
  static std::function<void(double)> take(Arguments&) { return {}; }
};

}  // namespace isentropic::pytorch::bindings
