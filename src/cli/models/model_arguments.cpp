// Options that choose a model, its device and its type.
#include "cli/models/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "model/names.hpp"

namespace isentropic::cli {

void ModelArguments::offer(CLI::App* command, const std::string& help) {
  command->add_option("model", path, help)->required();
  command->add_option("--device", device, "cpu, cuda, cuda:1, ...")->capture_default_str();
  command->add_option("--dtype", type, "type of weights and computation: stored, float32, bfloat16 or float16")
      ->capture_default_str();
}

model::OpenOptions ModelArguments::options() const {
  model::OpenOptions out;
  try {
    if (type != "stored") out.type = model::type_named("--dtype", type, "stored, ");
    out.device = model::device_named("--device", device);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return out;
}

}  // namespace isentropic::cli
