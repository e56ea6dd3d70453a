// One model of the study in training.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/dynamics/course.hpp"
#include "lab/dynamics/material.hpp"
#include "lab/dynamics/study.hpp"
#include "lab/tensor_state.hpp"
#include "lab/trainer.hpp"
#include "model/transformer.hpp"

namespace isentropic::lab::dynamics {

class Run {
 public:
  Run(const Study& study, const Material& material, const Setting& setting, std::uint64_t seed);

  // Takes one step; returns a point if one is due.
  std::optional<Point> step();
  std::int64_t steps_done() const { return trainer_.steps_done(); }
  double last_loss() const { return last_loss_; }

  // The increase of the validation loss under noise.
  double rise_under(const ValidationNoise& noise);

  NamedTensors state() const;
  void go_on_from(std::int64_t steps) { trainer_.go_on_from(steps); }

 private:
  bool is_point(std::int64_t step) const;
  void add(const StepReport& report);
  Point take_point();

  const Study& study_;
  const Setting setting_;
  std::int64_t validation_windows_;
  model::Transformer model_;
  Trainer trainer_;
  // Sums since the last point: steps, loss, norm, nats, then H / log k by layer and head. In float32, as in the saved
  // state, so that a resumed run adds the same numbers.
  at::Tensor sums_;
  double last_loss_ = 0;
};

}  // namespace isentropic::lab::dynamics
