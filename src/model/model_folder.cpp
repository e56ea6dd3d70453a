// Reads config.json, then the tensors it describes.
#include "model/model_folder.hpp"

#include <filesystem>

#include "model/families.hpp"

namespace isentropic::model {

Transformer open_model(const std::string& path, const OpenOptions& options) {
  const std::filesystem::path given(path);
  const std::string folder = std::filesystem::is_directory(given) ? path : given.parent_path().string();
  const checkpoint::Config config = checkpoint::Config::read(folder);
  Description description = describe(config);
  const checkpoint::Checkpoint checkpoint = checkpoint::Checkpoint::open(path);
  at::TensorOptions tensors = at::TensorOptions().device(options.device);
  if (options.type) tensors = tensors.dtype(*options.type);
  CheckpointParameters source(checkpoint, family_of(config), tensors);
  return Transformer(std::move(description), source);
}

}  // namespace isentropic::model
