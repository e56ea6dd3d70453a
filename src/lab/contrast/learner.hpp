// One critic in training and what its steps measure: on pairs along a staircase of information, or on views of points.
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

// A part of the study that trains a critic of its own.
struct Part {
  std::string critic = {};  // of a staircase; "": views
  std::int64_t batch = 0;   // pairs per step
  double temperature = 0;   // for views
  std::int64_t steps = 0;
};

// Staircases first, then views.
std::vector<Part> parts_of(const Options& options);

class Learner {
 public:
  Learner(const Options& options, Part part);

  // `line` holds means over the steps of the current block so far. The log has one line per block: 40 blocks per stair,
  // and 40 for the views of each temperature.
  struct Step {
    nlohmann::ordered_json line;
    bool ends_block = false;
  };
  Step step();
  std::int64_t steps_done() const { return done_; }
  // The state after a step, to resume from.
  NamedTensors state() const;
  void set_steps(std::int64_t steps);

 private:
  std::int64_t stairs() const;  // for views: 1
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
