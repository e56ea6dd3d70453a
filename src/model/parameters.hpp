// Where a model's tensors come from: a checkpoint, or random initialisation.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "checkpoint/checkpoint.hpp"
#include "model/stored_names.hpp"

namespace isentropic::model {

// Our names: "layers.3.query.weight". Matrices are [out, in].
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  virtual at::Tensor parameter(const std::string& name, at::IntArrayRef shape) = 0;
  // Whether the tensor exists; random initialisation has all of them.
  virtual bool has(const std::string& name) const = 0;
};

// Tensors of a checkpoint under its family's names. They stay in the mapped file if type and device allow it.
class CheckpointParameters : public ParameterSource {
 public:
  CheckpointParameters(const checkpoint::Checkpoint& checkpoint, const Family& family, at::TensorOptions options);

  at::Tensor parameter(const std::string& name, at::IntArrayRef shape) override;
  bool has(const std::string& name) const override;

 private:
  std::optional<StoredPlace> find(const std::string& name) const;

  const checkpoint::Checkpoint& checkpoint_;
  const Family& family_;
  std::string prefix_;
  at::TensorOptions options_;
};

// Matrices are normal with deviation 0.02, or 0.02 / sqrt(2 layers) if they end a sublayer; norms are 1, biases 0.
class RandomParameters : public ParameterSource {
 public:
  RandomParameters(const Description& model, at::Generator generator, at::TensorOptions options);

  at::Tensor parameter(const std::string& name, at::IntArrayRef shape) override;
  bool has(const std::string&) const override { return true; }

 private:
  double residual_deviation_;
  bool one_plus_weight_;
  at::Generator generator_;
  at::TensorOptions options_;
};

// A stored tensor, without a copy unless its bytes are misaligned.
at::Tensor to_torch(const checkpoint::StoredTensor& stored);

}  // namespace isentropic::model
