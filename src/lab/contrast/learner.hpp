// One critic that learns, and what a step of it tells: on pairs of a staircase of information, or on views of points.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/adamw.hpp"
#include "lab/contrast/critic.hpp"
#include "lab/contrast/study.hpp"
#include "lab/tensor_state.hpp"

namespace isentropic::lab::contrast {

// A part of the study with a critic of its own.
struct Part {
  std::string critic = {};  // of the staircase; "": views
  std::int64_t batch = 0;   // pairs of a step
  double temperature = 0;   // of views
  std::int64_t steps = 0;
};

// Staircases first, then views.
std::vector<Part> parts_of(const Options& options);

class Learner {
 public:
  Learner(const Options& options, Part part);

  // A record of the step after which it stands, 1 and on.
  nlohmann::ordered_json step();
  std::int64_t steps_done() const { return done_; }
  // What it is made of after a step; to go on from there.
  NamedTensors state() const;
  void set_steps(std::int64_t steps);

 private:
  pytorch::Loss learn(const at::Tensor& x, const at::Tensor& y, double rate);
  nlohmann::ordered_json step_of_staircase();
  nlohmann::ordered_json step_of_views();
  at::Tensor noisy_views(std::uint64_t stream_number, std::int64_t step) const;

  Options options_;
  Part part_;
  at::Device device_;
  std::shared_ptr<Critic> critic_;
  std::unique_ptr<AdamW> optimiser_;
  std::int64_t done_ = 0;
};

}  // namespace isentropic::lab::contrast
