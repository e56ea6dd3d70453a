// One network of a length study: trained step by step, then evaluated at every length under every law that uses it.
#pragma once

#include <vector>

#include "lab/corpus.hpp"
#include "lab/length/documents.hpp"
#include "lab/length/laws.hpp"
#include "lab/length/study.hpp"
#include "lab/trainer.hpp"
#include "model/transformer.hpp"

namespace isentropic::lab::length {

// The run, and the device and precision in which this process trains it; no measurements.
Result unmeasured(const Study& study, const Run& run);

// Per-step measurements, kept as tensors so that they are saved with the training state.
struct Trace {
  static constexpr std::int64_t kCurvePoints = 20;
  static constexpr std::int64_t kWindow = 100;  // previous gradient norms to compare with

  at::Tensor curve = at::full({kCurvePoints}, std::nan(""));  // losses at the trained length
  at::Tensor norms = at::zeros({kWindow});                    // of the last gradients
  at::Tensor spikes = at::zeros({1});

  // Adds the gradient norm of step `step`, counted from 1.
  void add_norm(std::int64_t step, double norm);
};

class Network {
 public:
  // The study, the documents and the corpus must outlive it.
  Network(const Study& study, const Run& run, const Documents& documents, const Corpus& corpus);

  std::int64_t steps_done() const { return trainer_.steps_done(); }
  // Everything that a resumed training needs, but for the number of steps.
  NamedTensors state() const;
  void go_on_from(std::int64_t steps) { trainer_.go_on_from(steps); }

  void step();      // throws Diverged
  Result finish();  // evaluates the trained network
  Result diverged() const { return as_diverged(result_); }

 private:
  // The number of curve points at steps up to this one.
  std::int64_t curve_point(std::int64_t step) const { return step * Trace::kCurvePoints / study_.steps; }
  model::Transformer make_model() const;

  const Study& study_;
  const std::vector<Law> laws_;
  const Documents& documents_;
  Result result_;
  const Law& law_;
  model::Transformer model_;
  Trainer trainer_;
  Trace trace_;
};

}  // namespace isentropic::lab::length
