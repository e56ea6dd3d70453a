// Saves and restores the state of a training run.
#include "lab/tensor_state.hpp"
#include "lab/trainer.hpp"

namespace isentropic::lab {

NamedTensors Trainer::state() const {
  NamedTensors out;
  for (const auto& item : model_.parameters()) out.emplace_back("w." + item.key(), item.value());
  for (const auto& item : optimiser_.moments()) out.emplace_back(item.key(), item.value());
  return out;
}

void Trainer::save(const std::string& path) const { save_tensors(path, state(), done_); }

void Trainer::load(const std::string& path) { go_on_from(restore_tensors(path, state())); }

void Trainer::go_on_from(std::int64_t steps) {
  done_ = steps;
  optimiser_.set_steps(steps);
}

}  // namespace isentropic::lab
