// One critic that learns, and what a step of it tells: on pairs of a staircase of information, or on views of points.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/adamw.hpp"
#include "lab/contrast/critic.hpp"
#include "lab/contrast/geometry.hpp"
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

  // The means over the steps of a block so far. The log has a line for each block: 40 of them a stair, and 40 of the
  // views of a temperature.
  struct Step {
    nlohmann::ordered_json line;
    bool ends_block = false;
  };
  Step step();
  std::int64_t steps_done() const { return done_; }
  // What it is made of after a step; to go on from there.
  NamedTensors state() const;
  void set_steps(std::int64_t steps);

 private:
  std::int64_t stairs() const;  // of the views: 1
  std::int64_t block(std::int64_t step) const;
  pytorch::Loss learn(const at::Tensor& x, const at::Tensor& y, double rate);
  pytorch::Loss learn_pairs(double information);
  pytorch::Loss learn_views();
  nlohmann::ordered_json place() const;  // of the next step
  Geometry geometry() const;
  at::Tensor noisy_views(std::uint64_t stream_number, std::int64_t step) const;

  Options options_;
  Part part_;
  at::Device device_;
  std::shared_ptr<Critic> critic_;
  std::unique_ptr<AdamW> optimiser_;
  std::int64_t done_ = 0;
  at::Tensor block_ = at::zeros({4}, at::kFloat);  // steps, sums of losses and bounds, highest bound; part of the state
};

}  // namespace isentropic::lab::contrast
