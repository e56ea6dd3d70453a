// Which model, where and in which type.
#include <c10/core/Device.h>

#include "cli/models/commands.hpp"
#include "cli/tools/arguments.hpp"

namespace isentropic::cli {

void ModelArguments::offer(CLI::App* command) {
  command->add_option("model", path, "a model folder (config.json, safetensors, tokenizer.json)")->required();
  command->add_option("--device", device, "cpu, cuda, cuda:1, ...")->capture_default_str();
  command->add_option("--type", type, "of weights and computation: stored, float32, bfloat16 or float16")
      ->capture_default_str();
}

model::OpenOptions ModelArguments::options() const {
  model::OpenOptions out;
  if (type == "float32")
    out.type = at::kFloat;
  else if (type == "bfloat16")
    out.type = at::kBFloat16;
  else if (type == "float16")
    out.type = at::kHalf;
  else if (type != "stored")
    throw UsageError("--type", type, "stored, float32, bfloat16 or float16");
  try {
    out.device = at::Device(device);
    at::empty({1}, at::TensorOptions().device(out.device));
  } catch (const c10::Error&) {
    throw UsageError("--device", device, "cpu, or cuda on a machine and a build that have it");
  }
  return out;
}

}  // namespace isentropic::cli
