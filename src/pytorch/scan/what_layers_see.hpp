// What a layer sees, derived from the text of its problem alone if possible, so that the device need not be read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "attention/problem/problem_spec.hpp"
#include "attention/problem/visibility.hpp"
#include "scan/measurement.hpp"

namespace isentropic::pytorch {

class WhatLayersSee {
 public:
  // Empty if tensors hide keys. Without module and heads.
  std::optional<scan::LayerDescription> description(const std::string& problem, std::int64_t rows, std::int64_t keys) {
    const auto [place, is_new] = known_.try_emplace({problem, rows, keys});
    if (is_new)
      if (const auto counts = counts_of(problem, rows, keys)) place->second = scan::self_attention_with(*counts);
    return place->second;
  }

 private:
  static std::optional<std::vector<std::int64_t>> counts_of(const std::string& text, std::int64_t rows,
                                                            std::int64_t keys) {
    const auto spec = cached_spec(text);
    for (const char* name : {"mask", "layout", "key_lengths", "query_offsets", "key_offsets"})
      if (spec->place(name)) return {};
    if (spec->bias == Bias::Kind::dense) return {};
    AttentionProblem problem = spec->without_tensors();
    problem.query.shape = {1, 1, rows, 1}, problem.key.shape = {1, 1, keys, 1};
    const Visibility visibility(problem);
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < rows; ++i) out.push_back(visibility.count(0, 0, i));
    return out;
  }

  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::optional<scan::LayerDescription>> known_;
};

}  // namespace isentropic::pytorch
