// Fills in the parts of a problem that its text leaves to tensors.
#include "pytorch/bound_problem.hpp"

#include "attention/problem/validate.hpp"

namespace isentropic::pytorch {
namespace {

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kDouble).contiguous().flatten();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

std::vector<std::int64_t> integers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kCPU, at::kLong).contiguous().flatten();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

// Rows outside every document would silently be zeros.
void require_whole(const std::vector<std::int64_t>& offsets, std::int64_t n, const char* of) {
  if (!offsets.empty() && offsets.front() == 0 && offsets.back() == n) return;
  throw Error("documents", to_string(Shape(offsets)),
              "offsets from 0 to " + std::to_string(n) + ", the number of " + of);
}

// Offsets [documents + 1], or [batch, documents + 1].
std::vector<DocumentOffsets> documents(const at::Tensor& queries, const at::Tensor& keys,
                                       const AttentionProblem& problem) {
  const auto rows = [](const at::Tensor& offsets) {
    return offsets.dim() == 2 ? offsets.unbind(0) : std::vector<at::Tensor>{offsets};
  };
  const std::vector<at::Tensor> query_rows = rows(queries), key_rows = rows(keys);
  if (query_rows.size() != key_rows.size())
    throw Error("documents", std::to_string(key_rows.size()) + " rows of offsets for the keys",
                std::to_string(query_rows.size()) + ", as for the queries");
  const auto total = [](std::int64_t given, std::int64_t here) { return given < 0 ? here : given; };
  const std::int64_t n_q = total(problem.shard.total_queries, problem.query.shape.at(2));
  const std::int64_t n_k = total(problem.shard.total_keys, problem.key.shape.at(2));
  std::vector<DocumentOffsets> out;
  for (std::size_t b = 0; b < query_rows.size(); ++b) {
    out.push_back({integers_of(query_rows[b]), integers_of(key_rows[b])});
    require_whole(out.back().query, n_q, "queries");
    require_whole(out.back().key, n_k, "keys");
  }
  return out;
}

void bind_mask(BoundProblem& x) {
  Mask& mask = x.problem.mask;
  if (const at::Tensor* lengths = x.find("key_lengths")) mask = mask.key_lengths(integers_of(*lengths));
  if (const at::Tensor* layout = x.find("layout")) {
    if (!x.spec->block) throw Error("layout", "given without the sizes of a block", "both");
    mask = mask.block_sparse(x.keep_alive(*layout, "layout"), x.spec->block->first, x.spec->block->second);
  }
  if (const at::Tensor* queries = x.find("query_offsets")) {
    const at::Tensor* keys = x.find("key_offsets");
    mask = mask.documents(documents(*queries, keys ? *keys : *queries, x.problem));
  }
  if (const at::Tensor* dense = x.find("mask")) mask = mask.dense(x.keep_alive(*dense, "mask"));
}

void bind_scale(BoundProblem& x) {
  const std::vector<std::size_t> places = x.spec->scale_places();
  if (x.problem.scale.is_per_row()) {
    x.problem.scale = Scale::per_row(x.keep_alive(x.tensors[places.at(0)], "scale rows"));
    return;
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    x.problem.scale = x.problem.scale.with_parameter(x.spec->scale_tensors[i], numbers_of(x.tensors[places[i]]));
}

void bind_map(BoundProblem& x) {
  if (const at::Tensor* alpha = x.find("map")) x.problem.map = x.problem.map.with_alpha(numbers_of(*alpha));
}

void bind_bias(BoundProblem& x) {
  const Bias::Kind kind = x.spec->bias;
  if (kind == Bias::Kind::none) return;
  const at::Tensor* values = x.find("bias");
  if (!values) throw Error("bias", "absent", "a tensor");
  if (kind == Bias::Kind::alibi)
    x.problem.bias = Bias::alibi(numbers_of(*values));
  else if (kind == Bias::Kind::dense)
    x.problem.bias = Bias::dense(x.keep_alive(*values, "bias"));
  else
    x.problem.bias = Bias::relative(x.keep_alive(*values, "bias table"));
}

void bind_seed(BoundProblem& x) {
  const bool gumbel = x.problem.map.kind() == ScoreMap::Kind::gumbel;
  if (!gumbel && !x.problem.dropout) return;
  const at::Tensor* tensor = x.find("seed");
  if (!tensor) throw Error("seed", "absent", "a tensor: dropout and Gumbel noise are drawn from it");
  const auto seed = static_cast<std::uint64_t>(integers_of(*tensor).at(0));
  if (gumbel) x.problem.map = x.problem.map.with_seed(seed);
  if (x.problem.dropout) x.problem.dropout->seed = seed;
}

}  // namespace

BoundProblem::BoundProblem(std::string_view text, const at::Tensor& query, const at::Tensor& key,
                           const std::optional<at::Tensor>& value, at::TensorList given)
    : spec(cached_spec(text)), tensors(given.vec()), problem(spec->without_tensors()) {
  if (spec->tensors.size() != tensors.size())
    throw Error("terms", std::to_string(tensors.size()) + " tensors",
                std::to_string(spec->tensors.size()) + ", as the problem names");
  problem.query = keep_alive(query, "query");
  problem.key = keep_alive(key, "key");
  if (value) problem.value = keep_alive(*value, "value");
  bind_mask(*this);
  bind_scale(*this);
  bind_map(*this);
  bind_bias(*this);
  if (const at::Tensor* logits = find("sink")) problem.sink = PerHead(numbers_of(*logits));
  bind_seed(*this);
}

const at::Tensor* BoundProblem::find(std::string_view name) const {
  const std::optional<std::size_t> place = spec->place(name);
  return place ? &tensors[*place] : nullptr;
}

StatisticsLayout::StatisticsLayout(const AttentionProblem& problem) {
  const Statistics asked = available_statistics(problem);
  const auto has_gradient = [&](Statistic statistic) {
    constexpr Statistic list[] = {Statistic::log_partition,      Statistic::entropy,        Statistic::mean_score,
                                  Statistic::score_variance,     Statistic::collision,      Statistic::sparsity,
                                  Statistic::normalised_entropy, Statistic::effective_keys, Statistic::participation,
                                  Statistic::sink_mass};
    return problem.map.is_softmax() && std::find(std::begin(list), std::end(list), statistic) != std::end(list);
  };
  const auto place = [&](Statistic statistic) {
    if (!asked.has(statistic)) return;
    const bool integer = statistic == Statistic::visible || statistic == Statistic::argmax;
    (integer ? counted : has_gradient(statistic) ? differentiable : measured).push_back(statistic);
  };
#define ISENTROPIC_PLACE(name) place(Statistic::name);
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_PLACE)
#undef ISENTROPIC_PLACE
}

}  // namespace isentropic::pytorch
