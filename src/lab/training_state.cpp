// Saves and reads back the state of a training run.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "checkpoint/safetensors.hpp"
#include "isentropic/error.hpp"
#include "lab/trainer.hpp"
#include "model/stored_names.hpp"

namespace isentropic::lab {
namespace {

constexpr const char* kSteps = "steps";

// Reads into tensors that are in use.
void restore(const checkpoint::SafetensorsFile& file, const std::string& path, const std::string& name,
             at::Tensor target) {
  const checkpoint::StoredTensor* stored = file.find(name);
  if (!stored) throw Error(path, "without the tensor " + name, "the state of this model's training");
  const at::Tensor found = model::to_torch(*stored);
  if (found.sizes() != target.sizes())
    throw Error(path, "with another shape of " + name, "the state of this model's training");
  const at::NoGradGuard no_gradient;
  target.copy_(found);
}

}  // namespace

void Trainer::save(const std::string& path) const {
  std::vector<checkpoint::StoredTensor> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    const at::Tensor plain = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    tensors.push_back(model::to_stored(name, plain, checkpoint::ElementType::f32));
  };
  for (const auto& item : model_.parameters()) add("w." + item.key(), item.value());
  for (const auto& item : optimiser_.moments()) add(item.key(), item.value());
  checkpoint::write_safetensors(path, std::move(tensors), {{kSteps, std::to_string(done_)}});
}

void Trainer::load(const std::string& path) {
  const auto file = checkpoint::SafetensorsFile::open(path);
  const auto steps = file.metadata().find(kSteps);
  if (steps == file.metadata().end()) throw Error(path, "without a number of steps", "the state of a training run");
  for (const auto& item : model_.parameters()) restore(file, path, "w." + item.key(), item.value());
  for (const auto& item : optimiser_.moments()) restore(file, path, item.key(), item.value());
  done_ = std::stoll(steps->second);
  optimiser_.set_steps(done_);
}

}  // namespace isentropic::lab
