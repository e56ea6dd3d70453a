// Saves and restores tensors in use.
#include "lab/tensor_state.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "checkpoint/safetensors.hpp"
#include "isentropic/error.hpp"
#include "model/parameters.hpp"
#include "model/stored_names.hpp"

namespace isentropic::lab {
namespace {

constexpr const char* kSteps = "steps";

}  // namespace

void save_tensors(const std::string& path, const NamedTensors& tensors, std::int64_t steps) {
  std::vector<checkpoint::StoredTensor> stored;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor plain = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    stored.push_back(model::to_stored(name, plain, checkpoint::ElementType::f32));
  }
  checkpoint::write_safetensors(path, std::move(stored), {{kSteps, std::to_string(steps)}});
}

std::int64_t restore_tensors(const std::string& path, const NamedTensors& tensors) {
  const auto file = checkpoint::SafetensorsFile::open(path);
  const auto steps = file.metadata().find(kSteps);
  if (steps == file.metadata().end()) throw Error(path, "without a number of steps", "the state of a training run");
  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : tensors) {
    const checkpoint::StoredTensor* stored = file.find(name);
    if (!stored) throw Error(path, "without the tensor " + name, "the state of this model's training");
    const at::Tensor found = model::to_torch(*stored);
    if (found.sizes() != tensor.sizes())
      throw Error(path, "with another shape of " + name, "the state of this model's training");
    at::Tensor(tensor).copy_(found);
  }
  return std::stoll(steps->second);
}

}  // namespace isentropic::lab
