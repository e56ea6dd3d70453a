// The module: projections, positions, and one attention call whose law has kappa as its parameter.
#include "isentropic/pytorch/entropy_invariant_attention.hpp"

#include <algorithm>
#include <cmath>

namespace isentropic::pytorch {
namespace {

// Of positions [n] and `pairs` frequencies base^{-i / pairs}: angles [n, pairs].
at::Tensor angles(const at::Tensor& positions, std::int64_t pairs, double base) {
  const at::Tensor frequencies = at::pow(base, -at::arange(pairs, at::kDouble) / static_cast<double>(pairs));
  return positions.to(at::kDouble).unsqueeze(-1) * frequencies.to(positions.device());
}

// Pairs (x_i, x_{i + d/2}) turned by the angle of their position; x [batch, heads, n, d].
at::Tensor rotated(const at::Tensor& x, const at::Tensor& positions, double base) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor turn = angles(positions, half, base);
  const at::Tensor cosine = turn.cos().to(x.scalar_type()), sine = turn.sin().to(x.scalar_type());
  const at::Tensor first = x.narrow(-1, 0, half), second = x.narrow(-1, half, half);
  return at::cat({first * cosine - second * sine, second * cosine + first * sine}, -1);
}

// [n, features]: the sines, then the cosines.
at::Tensor waves(const at::Tensor& positions, std::int64_t features, double base) {
  const at::Tensor turn = angles(positions, (features + 1) / 2, base);
  return at::cat({turn.sin(), turn.cos()}, -1).narrow(-1, 0, features);
}

at::Tensor four_axes(const at::Tensor& mask) {
  switch (mask.dim()) {
    case 2:
      return mask.unsqueeze(1).unsqueeze(1);
    case 3:
      return mask.unsqueeze(1);
    default:
      return mask;
  }
}

// The law's one learnable parameter; nullptr: it has none.
const Parameter* learnable_parameter(const std::string& name) {
  const auto law = std::ranges::find(Scale::laws(), name, &ScaleLaw::name);
  if (law == Scale::laws().end()) return nullptr;  // Scale::named says what is known
  const auto found = std::ranges::find_if(law->parameters, &Parameter::learnable);
  return found == law->parameters.end() ? nullptr : &*found;
}

}  // namespace

EntropyInvariantAttentionImpl::EntropyInvariantAttentionImpl(EntropyInvariantAttentionOptions given)
    : options(std::move(given)) {
  if (options.num_kv_heads == 0) options.num_kv_heads = options.num_heads;
  TORCH_CHECK_VALUE(options.num_heads >= 1 && options.d_model % options.num_heads == 0, "num_heads is ",
                    options.num_heads, "; expected a divisor of d_model = ", options.d_model);
  TORCH_CHECK_VALUE(options.num_heads % options.num_kv_heads == 0, "num_kv_heads is ", options.num_kv_heads,
                    "; expected a divisor of num_heads = ", options.num_heads);
  TORCH_CHECK_VALUE(options.positions != Positions::rotary || options.d_model / options.num_heads % 2 == 0,
                    "rotary positions are given with heads of ", options.d_model / options.num_heads,
                    " features; expected an even number");
  reset();
}

void EntropyInvariantAttentionImpl::reset() {
  const std::int64_t d_model = options.d_model, d = d_model / options.num_heads, of_keys = options.num_kv_heads * d;
  W_Q = register_module("W_Q", torch::nn::Linear(d_model, d_model));
  W_K = register_module("W_K", torch::nn::Linear(d_model, of_keys));
  W_V = register_module("W_V", torch::nn::Linear(d_model, of_keys));
  W_O = register_module("W_O", torch::nn::Linear(d_model, d_model));
  kappa = options.learn_kappa ? register_parameter("kappa", at::full({options.num_heads}, options.kappa))
                              : register_buffer("kappa", at::scalar_tensor(options.kappa));
  if (options.positions == Positions::relative)
    table = register_parameter("table", at::zeros({options.num_heads, 2 * options.max_distance + 1}));
}

at::Tensor EntropyInvariantAttentionImpl::heads(const at::Tensor& x, std::int64_t count) const {
  return x.reshape({x.size(0), x.size(1), count, -1}).transpose(1, 2);
}

AttentionOptions EntropyInvariantAttentionImpl::attention_options(const at::Tensor& mask) const {
  AttentionOptions out;
  out.mask = options.mask;
  if (mask.defined()) out.visible = four_axes(mask);
  if (const Parameter* parameter = learnable_parameter(options.scale)) {
    out.scale = Scale::named(options.scale, {{parameter->name, options.kappa}});
    out.scale_parameters = {{parameter->name, kappa}};
  } else {
    out.scale = Scale::named(options.scale);
  }
  out.relative_bias = table;
  out.dropout = is_training() ? options.dropout : 0.0;
  out.statistics = options.statistics;
  return out;
}

EntropyInvariantAttentionOutput EntropyInvariantAttentionImpl::forward(
    const at::Tensor& Q, at::Tensor K, at::Tensor V, const at::Tensor& mask,
    const std::vector<std::int64_t>& weights_of_rows) {
  if (!K.defined()) K = Q;
  if (!V.defined()) V = K;
  const std::int64_t n_q = Q.size(1), n_k = K.size(1);
  const at::Tensor key_places = at::arange(n_k, Q.options().dtype(at::kLong));
  const at::Tensor query_places =
      at::arange(n_q, Q.options().dtype(at::kLong)) + (options.mask.align == Align::end ? n_k - n_q : 0);
  const auto placed = [&](const at::Tensor& x, const at::Tensor& places) {
    if (options.positions != Positions::sinusoidal) return x;
    return x + waves(places, x.size(-1), options.base).to(x.scalar_type());
  };
  at::Tensor query = heads(W_Q(placed(Q, query_places)), options.num_heads);
  at::Tensor key = heads(W_K(placed(K, key_places)), options.num_kv_heads);
  if (options.positions == Positions::rotary) {
    query = rotated(query, query_places, options.base);
    key = rotated(key, key_places, options.base);
  }
  const AttentionOptions call = attention_options(mask);
  const AttentionOutput found = attention(query, key, heads(W_V(V), options.num_kv_heads), call);
  EntropyInvariantAttentionOutput out;
  out.output = W_O(found.output.transpose(1, 2).flatten(2));
  out.statistics = found.statistics;
  if (!weights_of_rows.empty()) out.weights = attention_weights(query, key, weights_of_rows, call);
  return out;
}

}  // namespace isentropic::pytorch
