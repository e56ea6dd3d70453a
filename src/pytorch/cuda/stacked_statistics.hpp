// Memory for the statistics of a problem on a GPU, in the operators' output layout.
#pragma once

#include <vector>

#include "pytorch/bound_problem.hpp"
#include "pytorch/cuda/attention_cuda.hpp"

namespace isentropic::pytorch {

struct StackedStatistics {
  at::Tensor differentiable, measured, counted;
  cuda::StatisticsOutput places;
  cuda::KeyGroupArrays groups;

  StackedStatistics(DeviceProblem& on, const StatisticsLayout& layout) {
    const auto stack = [&](const std::vector<Statistic>& which, at::ScalarType type) {
      const cuda::Problem& p = on.device;
      at::Tensor out = on.empty({std::ssize(which), p.batch, p.heads, p.n_q}, type);
      for (std::size_t s = 0; s < which.size(); ++s) {
        void* const column = entry(out, static_cast<std::int64_t>(s));
        if (type != at::kLong)
          places.real[static_cast<int>(which[s])] = column;
        else
          (which[s] == Statistic::visible ? places.visible : places.argmax) = static_cast<std::int64_t*>(column);
      }
      return out;
    };
    differentiable = stack(layout.differentiable, on.real);
    measured = stack(layout.measured, on.real);
    counted = stack(layout.counted, at::kLong);
    const auto of = [&](Statistic statistic) { return places.real[static_cast<int>(statistic)]; };
    groups = {on.problem.statistics.first_keys(), on.problem.statistics.recent_keys(),
              on.positions_in_document,           of(Statistic::first_mass),
              of(Statistic::recent_mass),         of(Statistic::entropy_without_first),
              of(Statistic::mean_distance)};
  }
};

}  // namespace isentropic::pytorch
