// Writes a model folder: every file atomically, config.json last, because readers look for it first.
#include <nlohmann/json.hpp>

#include "io/output_file.hpp"
#include "isentropic/error.hpp"
#include "model/model_folder.hpp"
#include "model/stored_names.hpp"

namespace isentropic::model {
namespace {

using Json = nlohmann::ordered_json;

checkpoint::ElementType element_type(at::ScalarType type) {
  if (type == at::kBFloat16) return checkpoint::ElementType::bf16;
  if (type == at::kHalf) return checkpoint::ElementType::f16;
  if (type == at::kFloat) return checkpoint::ElementType::f32;
  throw Error("type", std::string(at::toString(type)), "float32, float16 or bfloat16");
}

std::vector<checkpoint::StoredTensor> stored_tensors(const Transformer& model, at::ScalarType type) {
  const Family& family = *find_family(model.description().family);
  std::vector<checkpoint::StoredTensor> out;
  for (const auto& item : model.parameters()) {
    const auto place = stored_place(family, family.prefixes.front(), item.key());
    if (!place) continue;  // learned scales are stored in config.json
    at::Tensor tensor = item.value().detach();
    if (place->transposed) tensor = tensor.t();
    out.push_back(to_stored(place->name, tensor.to(at::kCPU, type).contiguous(), element_type(type)));
  }
  return out;
}

void write(const std::string& folder, const char* file, const std::string& text) {
  const std::string path = folder + "/" + file;
  io::write_file(path, path, text);
}

std::string tokenizer_config(const Description& model, const FolderTexts& texts) {
  Json out = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"model_max_length", model.trained_length}};
  if (!texts.end_token.empty()) out["bos_token"] = out["eos_token"] = out["pad_token"] = texts.end_token;
  if (!texts.mask_token.empty()) out["mask_token"] = texts.mask_token;
  return out.dump(2) + "\n";
}

}  // namespace

checkpoint::StoredTensor to_stored(const std::string& name, const at::Tensor& tensor, checkpoint::ElementType type) {
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  const Shape shape(tensor.sizes().begin(), tensor.sizes().end());
  return {name, type, shape, {bytes, tensor.nbytes()}, std::make_shared<at::Tensor>(tensor)};
}

void write_model(const std::string& folder, const Transformer& model, const FolderTexts& texts, at::ScalarType type) {
  checkpoint::write_safetensors(folder + "/model.safetensors", stored_tensors(model, type), {{"format", "pt"}});
  write(folder, "tokenizer.json", texts.tokenizer_json);
  write(folder, "tokenizer_config.json", tokenizer_config(model.description(), texts));
  if (texts.end_id) write(folder, "generation_config.json", Json{{"eos_token_id", *texts.end_id}}.dump(2) + "\n");
  Description description = model.description();
  description.scale_values = model.scale_values();
  write(folder, "config.json", config_text(description, texts, type));
}

}  // namespace isentropic::model
