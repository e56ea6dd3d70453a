// Converts what a C++ function returns to tensors and words for Python, field by field.
//
// A number becomes one element of its field per call; arrays and words come from a single call.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <complex>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "isentropic/error.hpp"
#include "isentropic/information/table.hpp"
#include "pytorch/information/words.hpp"

namespace isentropic::pytorch::bindings {

class Results {
 public:
  explicit Results(std::int64_t turns) : turns_(turns) {}

  void start_turn() { next_ = 0; }
  void number(double value) {
    if (next_ == fields_.size()) fields_.emplace_back();
    fields_[next_++].numbers.push_back(value);
  }
  void array(at::Tensor values) {
    require_single();
    ++next_;
    fields_.push_back({{}, std::move(values)});
  }
  void word(std::string word) {
    require_single();
    words_.push_back(std::move(word));
  }

  std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> out;
    for (const Field& field : fields_)
      out.push_back(field.array.defined() ? field.array : at::tensor(field.numbers, at::kDouble));
    return out;
  }
  const Words& words() const { return words_; }

 private:
  struct Field {
    std::vector<double> numbers;
    at::Tensor array;
  };

  void require_single() const {
    if (turns_ != 1)
      throw Error("the size of the numbers", std::to_string(turns_), "1, since the result is not a number");
  }

  std::int64_t turns_;
  std::size_t next_ = 0;
  std::vector<Field> fields_;
  Words words_;
};

inline void give(Results& out, double value) { out.number(value); }
template <std::integral T>
void give(Results& out, T value) {
  out.number(static_cast<double>(value));
}
// NaN for nullopt.
inline void give(Results& out, std::optional<double> value) {
  out.number(value.value_or(std::numeric_limits<double>::quiet_NaN()));
}
template <class T>
requires std::is_enum_v<T>
void give(Results& out, T choice) { out.word(word_of(choice)); }
inline void give(Results& out, const std::string& word) { out.word(word); }
inline void give(Results& out, const Words& words) {
  for (const std::string& word : words) out.word(word);
}

inline void give(Results& out, const std::vector<double>& values) { out.array(at::tensor(values, at::kDouble)); }
// Counts; the largest size_t, which stands for "none", becomes -1.
inline void give(Results& out, const std::vector<std::size_t>& values) {
  out.array(at::tensor(std::vector<std::int64_t>(values.begin(), values.end()), at::kLong));
}
inline void give(Results& out, const std::vector<std::complex<double>>& values) {
  at::Tensor all = at::empty({static_cast<std::int64_t>(values.size())}, at::kComplexDouble);
  std::ranges::copy(values, reinterpret_cast<std::complex<double>*>(all.data_ptr()));
  out.array(all);
}
inline void give(Results& out, const information::Table& table) {
  const auto rows = static_cast<std::int64_t>(table.rows), columns = static_cast<std::int64_t>(table.columns);
  out.array(at::tensor(table.values, at::kDouble).reshape({rows, columns}));
}

// The fields of a struct, in order. Each file has a `give` for its structs, declared static because argument-dependent
// lookup, which finds it, does not look into anonymous namespaces.
template <class... Fields>
void give_all(Results& out, const Fields&... fields) {
  (give(out, fields), ...);
}

}  // namespace isentropic::pytorch::bindings
