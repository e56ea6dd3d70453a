// The module: projections, positions, and one attention call.
#include "isentropic/pytorch/multi_head_attention.hpp"

#include <algorithm>
#include <cmath>

#include "isentropic/pytorch/variational_bottleneck.hpp"

namespace isentropic::pytorch {
namespace {

constexpr double kLeastAlpha = 1.001;  // below it, entmax equals softmax up to rounding
constexpr double kFirstNoise = 0.01;

void check(const MultiHeadAttentionOptions& options) {
  const std::int64_t d_model = options.d_model, heads = options.num_heads, kv_heads = options.num_kv_heads;
  const Mask& mask = options.mask;
  TORCH_CHECK_VALUE(heads >= 1 && d_model >= 1 && d_model % heads == 0, "num_heads is ", heads,
                    "; expected a divisor of d_model = ", d_model);
  TORCH_CHECK_VALUE(kv_heads >= 1 && heads % kv_heads == 0, "num_kv_heads is ", kv_heads,
                    "; expected a divisor of num_heads = ", heads);
  TORCH_CHECK_VALUE(!options.learn_scale || options.scale->learnable() > 0,
                    "learn_scale is true; expected false, for the scale ", options.scale->name(),
                    " has nothing to learn");
  TORCH_CHECK_VALUE(!options.learn_alpha || options.map.kind() == ScoreMap::Kind::entmax,
                    "learn_alpha is true; expected false, for the map ", options.map.name(), " has no alpha");
  TORCH_CHECK_VALUE(options.head_features >= 1, "head_features is ", options.head_features, "; expected at least 1");
  TORCH_CHECK_VALUE(!options.scale->is_per_row(),
                    "scale is per_row; expected a law that holds for inputs of every length");
  TORCH_CHECK_VALUE(options.dropout >= 0 && options.dropout < 1, "dropout is ", options.dropout,
                    "; expected a probability in [0, 1)");
  TORCH_CHECK_VALUE(options.noise >= 0 && std::isfinite(options.noise), "noise is ", options.noise,
                    "; expected a deviation >= 0");
  TORCH_CHECK_VALUE(options.positions != Positions::relative || options.max_distance >= 1, "max_distance is ",
                    options.max_distance, "; expected at least 1");
  TORCH_CHECK_VALUE(options.positions != Positions::rotary || options.head_features % 2 == 0,
                    options.head_features == d_model / heads ? "d_model / num_heads" : "head_features", " is ",
                    options.head_features, "; expected an even number for rotary positions");
  TORCH_CHECK_VALUE(options.positions != Positions::sinusoidal || mask.document_offsets.empty(),
                    "documents are given with sinusoidal positions; expected other positions or none");
  const bool alike = std::ranges::all_of(mask.document_offsets, [](const auto& x) { return x.query == x.key; });
  TORCH_CHECK_VALUE(options.positions != Positions::rotary || alike,
                    "documents hold more or fewer queries than keys; expected as many, for rotary positions");
}

// [n_q], or [batch, n_q] if the batch entries have their own lengths.
at::Tensor places_of_queries(const Mask& mask, std::int64_t n_q, std::int64_t n_k, at::Device device) {
  const at::Tensor places = at::arange(n_q, at::TensorOptions(device).dtype(at::kLong));
  if (mask.align == Align::start || !mask.document_offsets.empty()) return places;
  if (mask.lengths.empty()) return places + (n_k - n_q);
  return places + (at::tensor(mask.lengths, at::kLong).to(device).unsqueeze(-1) - n_q);
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

// [batch, n, heads d] to [batch, heads, n, d].
at::Tensor in_heads(const at::Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2);
}

// Inputs of the query and key projections, with sinusoidal positions added.
at::Tensor placed(const at::Tensor& x, const at::Tensor& places, const MultiHeadAttentionOptions& options) {
  if (options.positions != Positions::sinusoidal) return x;
  const std::int64_t width = x.size(-1);
  return x + sinusoids(places, frequencies((width + 1) / 2, options.base), width, SinusoidOrder::sines_first)
                 .to(x.scalar_type());
}

// Queries and keys, split into heads, with rotary positions applied.
at::Tensor turned(const at::Tensor& x, const at::Tensor& places, const MultiHeadAttentionOptions& options) {
  if (options.positions != Positions::rotary) return x;
  return rotate(x, rotation(places.unsqueeze(-2), frequencies(x.size(-1) / 2, options.base), x.scalar_type()));
}

void check_inputs(const at::Tensor& Q, const at::Tensor& K, const at::Tensor& V, std::int64_t d_model) {
  for (const auto& [name, x, length] :
       {std::tuple("Q", Q, "n_q"), std::tuple("K", K, "n_k"), std::tuple("V", V, "n_k")})
    TORCH_CHECK_VALUE(x.dim() == 3 && x.size(0) == Q.size(0) && x.size(2) == d_model, name, " has shape ", x.sizes(),
                      "; expected [batch, ", length, ", ", d_model, "], with Q's batch");
  TORCH_CHECK_VALUE(V.size(1) == K.size(1), "V has ", V.size(1), " rows; expected ", K.size(1), ", as K");
}

// The initial values of the raw parameters.
at::Tensor raw_alphas(const PerHead& alpha, std::int64_t heads) {
  const std::vector<double>& numbers = alpha.values();
  const auto count = static_cast<std::int64_t>(numbers.size());
  TORCH_CHECK_VALUE(count == 1 || count == heads, "alpha is given with ", count,
                    " numbers; expected one, or one for each of ", heads, " heads");
  for (const double number : numbers)
    TORCH_CHECK_VALUE(number > kLeastAlpha, "alpha is ", number, "; expected a number above ", kLeastAlpha,
                      " where it is learnt");
  return (at::tensor(numbers, at::kDouble) - kLeastAlpha).log().to(at::kFloat).expand({heads}).contiguous();
}

MultiHeadAttentionOptions with_noise(MultiHeadAttentionOptions options) {
  if (options.noise == 0) options.noise = kFirstNoise;
  return options;
}

MultiHeadAttentionOptions with_log_n(MultiHeadAttentionOptions options) {
  if (!options.scale) options.scale = Scale::log_n();
  return options;
}

}  // namespace

MultiHeadAttentionImpl::MultiHeadAttentionImpl(MultiHeadAttentionOptions given) : options(std::move(given)) {
  if (options.num_kv_heads == 0) options.num_kv_heads = options.num_heads;
  if (options.head_features == 0 && options.num_heads > 0)
    options.head_features = std::max<std::int64_t>(1, options.d_model / options.num_heads);
  if (!options.scale) options.scale = Scale::inverse_sqrt_d();
  check(options);
  reset();
}

void MultiHeadAttentionImpl::reset() {
  const std::int64_t heads = options.num_heads, d_model = options.d_model;
  const auto projection = [&](const char* name, std::int64_t features) {
    return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(d_model, features).bias(options.bias)));
  };
  W_Q = projection("W_Q", options.head_features * heads);
  W_K = projection("W_K", options.head_features * options.num_kv_heads);
  W_V = projection("W_V", d_model / heads * options.num_kv_heads);
  W_O = projection("W_O", d_model);
  for (const auto& [name, start] : learnable_parameters(*options.scale, heads))
    scale_parameters[name] = options.learn_scale ? register_parameter(name, start) : register_buffer(name, start);
  if (options.learn_alpha) raw_alpha = register_parameter("raw_alpha", raw_alphas(options.map.alpha(), heads));
  if (options.positions == Positions::relative)
    table = register_parameter("table", at::zeros({heads, 2 * options.max_distance + 1}));
  if (options.sinks) sinks = register_parameter("sinks", at::zeros({heads}));
  if (options.noise > 0) {
    const double start = options.noise + std::log(-std::expm1(-options.noise));  // the inverse of softplus
    raw_deviation = register_parameter("raw_deviation", at::full({heads, 1, d_model / heads}, start, at::kFloat));
  }
}

at::Tensor MultiHeadAttentionImpl::alpha() const { return kLeastAlpha + raw_alpha.exp(); }

at::Tensor MultiHeadAttentionImpl::deviation() const { return at::softplus(raw_deviation); }

AttentionOptions MultiHeadAttentionImpl::attention_options(const at::Tensor& mask) const {
  AttentionOptions out;
  out.mask = options.mask;
  if (mask.defined()) out.visible = four_axes(mask);
  out.scale = *options.scale;
  out.scale_parameters = scale_parameters;
  out.map = options.map;
  if (options.learn_alpha) out.alpha = alpha();
  out.relative_bias = table;
  if (options.positions == Positions::alibi)
    out.alibi_slopes = alibi_slopes(options.num_heads).to(W_Q->weight.device());
  out.soft_cap = options.soft_cap;
  out.sink = sinks;
  out.dropout = is_training() ? options.dropout : 0.0;
  out.statistics = options.statistics;
  return out;
}

MultiHeadAttentionOutput MultiHeadAttentionImpl::forward(const at::Tensor& Q, at::Tensor K, at::Tensor V,
                                                         const at::Tensor& mask,
                                                         const std::vector<std::int64_t>& weights_of_rows) {
  if (!K.defined()) K = Q;
  if (!V.defined()) V = K;
  check_inputs(Q, K, V, options.d_model);
  const std::int64_t n_q = Q.size(1), n_k = K.size(1);
  const at::Tensor query_places = places_of_queries(options.mask, n_q, n_k, Q.device());
  const at::Tensor key_places = at::arange(n_k, query_places.options());
  const at::Tensor query =
      turned(in_heads(W_Q(placed(Q, query_places, options)), options.num_heads), query_places, options);
  const at::Tensor key =
      turned(in_heads(W_K(placed(K, key_places, options)), options.num_kv_heads), key_places, options);
  AttentionOptions call = attention_options(mask);
  const bool is_random = options.map.kind() == ScoreMap::Kind::gumbel;
  if (is_random && !weights_of_rows.empty()) call.seed = draw_seed();  // so that output and weights use the same sample
  const AttentionOutput found = attention(query, key, in_heads(W_V(V), options.num_kv_heads), call);
  MultiHeadAttentionOutput out;
  out.statistics = found.statistics;
  at::Tensor passed = found.output;
  if (raw_deviation.defined()) {
    const at::Tensor sigma = deviation();
    out.statistics["rate"] = gaussian_rate({passed, sigma});
    if (is_training()) passed = passed + sigma * at::randn_like(passed);
  }
  out.output = W_O(passed.transpose(1, 2).flatten(2));
  if (!weights_of_rows.empty()) out.weights = attention_weights(query, key, weights_of_rows, call);
  return out;
}

EntropyInvariantAttention::EntropyInvariantAttention(MultiHeadAttentionOptions options)
    : MultiHeadAttention(with_log_n(std::move(options))) {}

NoisyAttention::NoisyAttention(MultiHeadAttentionOptions options)
    : MultiHeadAttention(with_noise(std::move(options))) {}

}  // namespace isentropic::pytorch
