// Tensors by name: read from a checkpoint, or drawn at random.
#include "model/parameters.hpp"

#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic::model {
namespace {

using checkpoint::ElementType;
using checkpoint::StoredTensor;

std::string text(at::IntArrayRef shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

at::ScalarType scalar_type(const StoredTensor& stored) {
  switch (stored.type) {
    case ElementType::f64:
      return at::kDouble;
    case ElementType::f32:
      return at::kFloat;
    case ElementType::f16:
      return at::kHalf;
    case ElementType::bf16:
      return at::kBFloat16;
    default:
      throw Error("tensor " + stored.name, "of type " + std::string(name(stored.type)), "F32, F16, BF16 or F64");
  }
}

}  // namespace

at::Tensor to_torch(const StoredTensor& stored) {
  const at::ScalarType type = scalar_type(stored);
  // The mapping is read-only: models that are trained copy their parameters.
  void* bytes = const_cast<std::byte*>(stored.bytes.data());
  const std::vector<std::int64_t> shape(stored.shape.begin(), stored.shape.end());
  if (stored.is_aligned())
    return at::from_blob(
        bytes, shape, [owner = stored.owner](void*) {}, at::TensorOptions().dtype(type));
  at::Tensor out = at::empty(shape, type);
  std::memcpy(out.mutable_data_ptr(), bytes, stored.bytes.size());
  return out;
}

// ---- Checkpoints ----

CheckpointParameters::CheckpointParameters(const checkpoint::Checkpoint& checkpoint, const Family& family,
                                           at::TensorOptions options)
    : checkpoint_(checkpoint), family_(family), prefix_(family.prefixes.front()), options_(options) {
  for (const char* prefix : family.prefixes) {
    prefix_ = prefix;
    if (has("tokens.weight")) return;
  }
  prefix_ = family.prefixes.front();  // errors name missing tensors as in whole models
}

std::optional<StoredPlace> CheckpointParameters::find(const std::string& name) const {
  auto place = stored_place(family_, prefix_, name);
  if (!place || checkpoint_.has(place->name)) return place;
  // Old checkpoints call a norm's weight and bias gamma and beta.
  for (const auto& [leaf, old] : {std::pair(".weight", ".gamma"), std::pair(".bias", ".beta")})
    if (place->name.ends_with(leaf)) {
      const std::string renamed = place->name.substr(0, place->name.size() - std::string_view(leaf).size()) + old;
      if (checkpoint_.has(renamed)) place->name = renamed;
    }
  return place;
}

bool CheckpointParameters::has(const std::string& name) const {
  const auto place = find(name);
  return place && checkpoint_.has(place->name);
}

at::Tensor CheckpointParameters::parameter(const std::string& name, at::IntArrayRef shape) {
  const auto place = find(name);
  if (!place) throw Error("model_type", std::string(family_.model_type), "a family with the tensor " + name);
  at::Tensor out = to_torch(checkpoint_.tensor(place->name));
  std::vector<std::int64_t> expected(shape.begin(), shape.end());
  if (place->transposed) std::swap(expected.front(), expected.back());
  if (out.sizes() != at::IntArrayRef(expected))
    throw Error("tensor " + place->name, "of shape " + text(out.sizes()),
                text(expected) + ", which follows from config.json");
  if (place->transposed) out = out.t();
  return out.to(options_);
}

// ---- Random initialisation ----

RandomParameters::RandomParameters(const Description& model, at::Generator generator, at::TensorOptions options)
    : residual_deviation_(0.02 / std::sqrt(2.0 * static_cast<double>(model.layers.size()))),
      one_plus_weight_(model.norm.one_plus_weight),
      generator_(std::move(generator)),
      options_(options) {}

at::Tensor RandomParameters::parameter(const std::string& name, at::IntArrayRef shape) {
  if (name.ends_with(".bias")) return at::zeros(shape, options_);
  if (name.ends_with("norm.weight")) return one_plus_weight_ ? at::zeros(shape, options_) : at::ones(shape, options_);
  const bool ends_sublayer = name.ends_with(".output.weight") || name.ends_with(".down.weight");
  const double deviation = ends_sublayer ? residual_deviation_ : 0.02;
  // Drawn on the CPU in float32, so that a seed gives the same model on every device.
  return (at::randn(shape, generator_, at::TensorOptions().dtype(at::kFloat)) * deviation).to(options_);
}

}  // namespace isentropic::model
