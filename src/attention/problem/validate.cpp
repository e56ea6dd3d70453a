// Checks of a problem: each mistake is reported in one place, for all callers.
#include "attention/problem/validate.hpp"

#include <cmath>

#include "attention/problem/dims.hpp"
#include "base/element.hpp"

namespace isentropic {
namespace {

using isentropic::to_string;
using std::to_string;

void require_layout(const char* argument, const View& view, std::size_t rank) {
  if (view.rank() != rank)
    throw Error(std::string(argument) + " rank", to_string(view.rank()), to_string(rank) + " axes");
  if (view.stride.size() != rank)
    throw Error(std::string(argument) + " strides", to_string(view.stride), to_string(rank) + " of them");
  if (view.shape.back() > 1 && view.stride.back() != 1)
    throw Error(std::string(argument) + " last stride", to_string(view.stride.back()), "1 (a contiguous last axis)");
  bool empty = false;
  for (std::int64_t length : view.shape) {
    if (length < 0) throw Error(std::string(argument) + " shape", to_string(view.shape), "no negative length");
    empty = empty || length == 0;
  }
  if (view.data == nullptr && !empty)
    throw Error(std::string(argument) + " data", "null", "the elements of a tensor " + to_string(view.shape));
}

// Finite, and positive if required, in the type the problem computes in.
enum class Sign : std::uint8_t { any, positive };
void require_number(const std::string& argument, double value, const AttentionProblem& problem, Sign sign) {
  const bool wide = problem.query.type == DType::float64;
  const double held = wide ? value : static_cast<double>(static_cast<float>(value));
  if (std::isfinite(held) && (sign == Sign::any || held > 0)) return;
  const std::string kind = sign == Sign::positive ? "a positive number" : "a finite number";
  throw Error(argument, value, kind + (wide ? "" : " in the range of float32, the type of the computation"));
}

void require_numbers(const std::string& argument, const PerHead& values, const AttentionProblem& problem, Sign sign) {
  for (double value : values.values()) require_number(argument, value, problem, sign);
}

// Each axis has the expected length, or 1 where `broadcast` allows it.
enum class Broadcast : std::uint8_t { no, all_but_last, all };
void require_shape(const char* argument, const View& view, const Shape& expected, Broadcast broadcast) {
  require_layout(argument, view, expected.size());
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    const bool is_last = axis + 1 == expected.size();
    const bool may_repeat = broadcast == Broadcast::all || (broadcast == Broadcast::all_but_last && !is_last);
    if (view.shape[axis] == expected[axis] || (may_repeat && view.shape[axis] == 1)) continue;
    const char* ones = broadcast == Broadcast::no    ? ""
                       : broadcast == Broadcast::all ? " (1 allowed on all axes)"
                                                     : " (1 allowed on all axes but the last)";
    throw Error(std::string(argument) + " shape", to_string(view.shape), to_string(expected) + ones);
  }
}

void require_floating(const char* argument, const View& view) {
  if (!is_floating(view.type))
    throw Error(std::string(argument) + " type", name(view.type), "float32, bfloat16, float16 or float64");
}

void require_per_head(const std::string& argument, const PerHead& values, std::int64_t heads) {
  const auto count = static_cast<std::int64_t>(values.values().size());
  if (count != 1 && count != heads)
    throw Error(argument + " count", to_string(count), "1 or " + to_string(heads) + " (one for each head)");
}

void require_device(const char* argument, const View& view, const AttentionProblem& problem) {
  if (view.present() && view.device != problem.query.device)
    throw Error(std::string(argument) + " device", to_string(view.device),
                to_string(problem.query.device) + ", as the query");
}

// All tensors of a problem lie on one device.
void validate_device(const AttentionProblem& problem) {
  require_device("key", problem.key, problem);
  require_device("value", problem.value, problem);
  require_device("mask excluded keys", problem.mask.excluded_keys, problem);
  require_device("dense mask", problem.mask.dense_part, problem);
  if (problem.mask.block_sparse_part)
    require_device("block-sparse layout", problem.mask.block_sparse_part->layout, problem);
  require_device("bias", problem.bias.values(), problem);
  require_device("scale rows", problem.scale.rows(), problem);
  require_device("shard visible", problem.shard.visible, problem);
}

void validate_inputs(const AttentionProblem& problem, ValueUse value_use) {
  const View &q = problem.query, &k = problem.key, &v = problem.value;
  require_layout("query", q, 4);
  require_layout("key", k, 4);
  require_floating("query", q);
  if (q.shape[3] == 0) throw Error("query d", "0", "at least 1");
  if (k.type != q.type) throw Error("key type", name(k.type), std::string(name(q.type)) + ", as the query");
  if (k.shape[0] != q.shape[0])
    throw Error("key batch", to_string(k.shape[0]), to_string(q.shape[0]) + ", as the query");
  if (k.shape[3] != q.shape[3]) throw Error("key d", to_string(k.shape[3]), to_string(q.shape[3]) + ", as the query");
  if (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0)
    throw Error("key heads", to_string(k.shape[1]), "a divisor of the query's " + to_string(q.shape[1]) + " heads");
  if (!v.present()) {
    if (value_use == ValueUse::required) throw Error("value", "absent", "a tensor [batch, kv_heads, n_k, d_v]");
    return;
  }
  require_layout("value", v, 4);
  if (v.type != q.type) throw Error("value type", name(v.type), std::string(name(q.type)) + ", as the query");
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (v.shape[axis] != k.shape[axis])
      throw Error("value shape", to_string(v.shape), "the key's first three axes, " + to_string(k.shape));
  if (v.shape[3] == 0) throw Error("value d_v", "0", "at least 1");
}

void require_offsets(const char* argument, const std::vector<std::int64_t>& offsets, std::int64_t n) {
  const std::string expected =
      "at least two non-decreasing offsets starting at 0 or later and ending at " + to_string(n) + " or earlier";
  bool ok = offsets.size() >= 2 && offsets.front() >= 0 && offsets.back() <= n;
  for (std::size_t t = 1; ok && t < offsets.size(); ++t) ok = offsets[t - 1] <= offsets[t];
  if (!ok) throw Error(argument, to_string(Shape(offsets)), expected);
}

std::int64_t total(std::int64_t given, std::int64_t here) { return given < 0 ? here : given; }

void validate_documents(const Mask& mask, std::int64_t batch, std::int64_t n_q, std::int64_t n_k) {
  if (mask.document_offsets.empty()) return;
  const auto count = static_cast<std::int64_t>(mask.document_offsets.size());
  if (count != 1 && count != batch)
    throw Error("mask document offsets count", to_string(count), "1 or the batch's " + to_string(batch));
  if (mask.segment_length > 0) throw Error("mask", "documents with segments", "one of the two");
  for (const DocumentOffsets& offsets : mask.document_offsets) {
    require_offsets("mask query document offsets", offsets.query, n_q);
    require_offsets("mask key document offsets", offsets.key, n_k);
    if (offsets.query.size() != offsets.key.size())
      throw Error("mask key document offsets count", to_string(offsets.key.size()),
                  to_string(offsets.query.size()) + ", as for the queries");
  }
}

void validate_mask(const AttentionProblem& problem, const Dims& dims) {
  const Mask& mask = problem.mask;
  const std::int64_t n_q = total(problem.shard.total_queries, dims.n_q);
  const std::int64_t n_k = total(problem.shard.total_keys, dims.n_k);
  if (!mask.lengths.empty()) {
    if (static_cast<std::int64_t>(mask.lengths.size()) != dims.batch)
      throw Error("mask key lengths count", to_string(mask.lengths.size()),
                  to_string(dims.batch) + ", one per batch entry");
    for (std::int64_t length : mask.lengths)
      if (length < 0 || length > n_k)
        throw Error("mask key length", to_string(length), "from 0 to n_k = " + to_string(n_k));
  }
  validate_documents(mask, dims.batch, n_q, n_k);
  if (mask.excluded_keys.present()) {
    const View& keys = mask.excluded_keys;
    if (keys.shape != Shape{dims.n_q} || keys.stride.size() != 1 || keys.type != DType::int64)
      throw Error("mask excluded keys", to_string(keys.shape) + " of " + name(keys.type),
                  to_string(Shape{dims.n_q}) + " of int64, one for each query");
  }
  if (mask.dense_part.present()) {
    require_shape("dense mask", mask.dense_part, {dims.batch, dims.heads, dims.n_q, dims.n_k}, Broadcast::all);
    if (mask.dense_part.type == DType::int64) throw Error("dense mask type", "int64", "boolean or a floating type");
  }
  if (mask.block_sparse_part) {
    const Mask::BlockSparse& part = *mask.block_sparse_part;
    const auto blocks = [](std::int64_t n, std::int64_t block) { return (n + block - 1) / block; };
    require_shape("block-sparse layout", part.layout,
                  {dims.batch, dims.heads, blocks(n_q, part.block_q), blocks(n_k, part.block_k)},
                  Broadcast::all_but_last);
    if (part.layout.type != DType::boolean) throw Error("block-sparse layout type", name(part.layout.type), "boolean");
  }
}

void validate_terms(const AttentionProblem& problem, const Dims& dims) {
  const Bias& bias = problem.bias;
  if (bias.kind() == Bias::Kind::dense) {
    require_floating("bias", bias.values());
    require_shape("bias", bias.values(), {dims.batch, dims.heads, dims.n_q, dims.n_k}, Broadcast::all);
  } else if (bias.kind() == Bias::Kind::alibi) {
    require_per_head("ALiBi slope", bias.slopes(), dims.heads);
    require_numbers("ALiBi slope", bias.slopes(), problem, Sign::any);
  } else if (bias.kind() == Bias::Kind::relative) {
    require_floating("relative bias table", bias.values());
    require_layout("relative bias table", bias.values(), 2);
    const std::int64_t heads = bias.values().shape[0], width = bias.values().shape[1];
    if ((heads != 1 && heads != dims.heads) || width % 2 != 1)
      throw Error("relative bias table shape", to_string(bias.values().shape),
                  "[1 or " + to_string(dims.heads) + ", an odd number 2 r + 1]");
  }
  if (problem.soft_cap) require_number("soft_cap", *problem.soft_cap, problem, Sign::positive);
  if (problem.map.kind() == ScoreMap::Kind::gumbel)
    require_number("tau of the map gumbel", problem.map.tau(), problem, Sign::positive);
  if (problem.map.kind() == ScoreMap::Kind::sigmoid)
    require_number("offset of the map sigmoid", problem.map.offset(), problem, Sign::any);
  if (problem.sink) {
    require_per_head("sink", *problem.sink, dims.heads);
    require_numbers("sink", *problem.sink, problem, Sign::any);
    if (!problem.map.streams()) throw Error("sink", "given with the map " + problem.map.name(), "softmax or gumbel");
  }
  if (problem.dropout && !(problem.dropout->probability >= 0 && problem.dropout->probability < 1))
    throw Error("dropout", problem.dropout->probability, "a probability in [0, 1)");
  const bool straight_through = problem.map.sample() == GumbelSample::straight_through;
  if (straight_through && (problem.dropout || problem.sink))
    throw Error("straight-through sample", "given with dropout or a sink", "neither: it chooses one key");
}

void validate_target_entropy(const AttentionProblem& problem) {
  const auto refuse = [](const std::string& with) {
    throw Error("target entropy", "given with " + with, "none: entropy would not fall monotonically with the scale");
  };
  if (problem.bias.kind() != Bias::Kind::none) refuse("a bias");
  if (problem.soft_cap) refuse("a soft cap");
  if (problem.mask.dense_part.present() && problem.mask.dense_part.type != DType::boolean)
    refuse("an additive mask (use a boolean one)");
  if (problem.map.kind() != ScoreMap::Kind::softmax) refuse("the map " + problem.map.name());
  const bool keys_split = total(problem.shard.total_keys, problem.key.shape[2]) != problem.key.shape[2];
  if (keys_split)
    throw Error("target entropy", "given with a shard of the keys", "all keys: its scale needs the whole row");
}

void validate_scale(const AttentionProblem& problem, const Dims& dims) {
  const Scale& scale = problem.scale;
  for (std::size_t i = 0; i < scale.parameters().size(); ++i) {
    const std::string argument =
        scale.name() == "constant" ? "scale" : scale.law().parameters[i].name + " of the scale " + scale.name();
    require_per_head(argument, scale.parameters()[i], dims.heads);
    require_numbers(argument, scale.parameters()[i], problem, Sign::any);
  }
  if (scale.is_per_row()) {
    require_floating("scale rows", scale.rows());
    require_shape("scale rows", scale.rows(), {dims.batch, dims.heads, dims.n_q}, Broadcast::all_but_last);
  }
  if (scale.is_target_entropy()) validate_target_entropy(problem);
}

// Ascending runs with `here` places in total, inside the whole.
void require_runs(const char* argument, const std::vector<Run>& runs, std::int64_t here, std::int64_t whole) {
  std::int64_t begin = 0, end = 0;  // places so far, positions so far
  std::string met;
  bool fits = true;
  for (const Run& run : runs) {
    const std::int64_t length = run.length < 0 ? here - begin : run.length;
    met += (met.empty() ? "" : ", ") + to_string(length) + " from " + to_string(run.offset);
    fits = fits && run.offset >= end && length >= 0 && length <= whole && run.offset <= whole - length;
    if (!fits) break;
    begin += length, end = run.offset + length;
  }
  if (fits && (runs.empty() ? here <= whole : begin == here)) return;
  throw Error(argument, runs.empty() ? to_string(here) + " from 0" : met,
              "ascending runs of the " + to_string(here) + " that are here, of " + to_string(whole) + " in all");
}

void validate_shard(const AttentionProblem& problem, const Dims& dims) {
  const Shard& shard = problem.shard;
  require_runs("shard query runs", shard.query_runs, dims.n_q, total(shard.total_queries, dims.n_q));
  require_runs("shard key runs", shard.key_runs, dims.n_k, total(shard.total_keys, dims.n_k));
  const bool dense = problem.mask.dense_part.present() || problem.bias.kind() == Bias::Kind::dense;
  const bool keys_split = total(shard.total_keys, dims.n_k) != dims.n_k;
  if (shard.visible.present()) {
    if (shard.visible.type != DType::int64) throw Error("shard visible type", name(shard.visible.type), "int64");
    require_shape("shard visible", shard.visible, {dims.batch, dims.heads, dims.n_q}, Broadcast::all_but_last);
  } else if (dense && keys_split && problem.scale.looks_at_n()) {
    throw Error("shard visible", "absent", "the rows' counts: a dense mask split along the keys cannot tell them");
  }
  const bool merges = problem.map.streams() && problem.map.sample() == GumbelSample::relaxed;
  if (keys_split && !merges)
    throw Error("shard total keys", to_string(shard.total_keys),
                "all keys here: the map " + problem.map.name() + " needs the whole row");
}

void validate_recurrent(const AttentionProblem& problem) {
  const Mask& mask = problem.mask;
  const bool plain = !mask.window_part && mask.prefix_keys == 0 && !mask.strided_part && !mask.block_sparse_part &&
                     mask.document_offsets.empty() && mask.segment_length == 0 && !mask.excludes_keys() &&
                     !mask.dense_part.present();
  if (!plain) throw Error("mask", "more than causal", "none, causal or key lengths for a recurrent form");
  if (problem.dropout) throw Error("dropout", "given", "none for a recurrent form");
  const Normaliser normaliser = problem.map.normaliser();
  const bool signed_features =
      problem.map.kind() == ScoreMap::Kind::linear && problem.map.feature() == Feature::identity;
  if (normaliser == Normaliser::l2 || (normaliser == Normaliser::l1 && signed_features))
    throw Error("normaliser", normaliser == Normaliser::l2 ? "l2" : "l1 of signed features",
                "none, visible, or l1 of non-negative features for a recurrent form");
}

void validate_map(const AttentionProblem& problem, const Dims& dims) {
  const ScoreMap& map = problem.map;
  if (map.kind() == ScoreMap::Kind::entmax) require_per_head("alpha", map.alpha(), dims.heads);
  if (map.kind() != ScoreMap::Kind::linear && map.kind() != ScoreMap::Kind::decay) return;
  require_per_head("gamma", map.gamma(), dims.heads);
  if (problem.bias.kind() != Bias::Kind::none || problem.soft_cap)
    throw Error("score terms", "bias or soft cap", "none with the map " + map.name());
  bool decays = false;
  for (double gamma : map.gamma().values()) decays = decays || gamma != 1;
  if (decays && (!problem.mask.is_causal || problem.mask.prefix_keys > 0))
    throw Error("mask", problem.mask.is_causal ? "a prefix" : "not causal", "causal for a decay gamma^(p_i - j)");
  if (map.form() == LinearForm::recurrent) validate_recurrent(problem);
}

}  // namespace

void validate(const AttentionProblem& problem, ValueUse value) {
  validate_inputs(problem, value);
  validate_device(problem);
  const Dims dims(problem);
  validate_mask(problem, dims);
  validate_terms(problem, dims);
  validate_scale(problem, dims);
  validate_shard(problem, dims);
  validate_map(problem, dims);
  available_statistics(problem);
}

void validate(const AttentionProblem& problem, const RowState& rows) {
  const Dims dims(problem);
  const auto require = [&](const char* argument, const Tensor& field, DType type) {
    const Shape expected{dims.batch, dims.heads, dims.n_q};
    if (field.shape() != expected || field.type() != type)
      throw Error(argument, to_string(field.shape()) + " of " + name(field.type()),
                  to_string(expected) + " of " + name(type) + ", as the problem");
  };
  require("forward result rows", rows.lambda, statistics_type(problem));
  if (problem.scale.looks_at_n()) require("forward result visible", rows.visible, DType::int64);
}

void validate(const AttentionProblem& problem, const AttentionResult& result) {
  validate(problem, result.rows);
  if (problem.map.is_softmax() && result.rows.m.shape() != result.rows.lambda.shape())
    throw Error("forward result records", to_string(result.rows.m.shape()),
                to_string(result.rows.lambda.shape()) + ", as the problem");
  if (problem.map.kind() == ScoreMap::Kind::top_k && !result.selected.present())
    throw Error("forward result selected", "absent", "the result of a top_k map");
}

void validate(const AttentionProblem& problem, const AttentionUpstream& upstream) {
  const Dims dims(problem);
  const auto check = [&](const char* argument, const View& view, const Shape& shape) {
    if (!view.present()) return false;
    require_floating(argument, view);
    require_shape(argument, view, shape, Broadcast::no);
    require_device(argument, view, problem);
    return true;
  };
  bool any = check("upstream output", upstream.output, {dims.batch, dims.heads, dims.n_q, dims.d_v});
  bool of_statistics = false;
  const Shape rows{dims.batch, dims.heads, dims.n_q};
  of_statistics |= check("upstream log_partition", upstream.log_partition, rows);
  of_statistics |= check("upstream entropy", upstream.entropy, rows);
  of_statistics |= check("upstream mean_score", upstream.mean_score, rows);
  of_statistics |= check("upstream score_variance", upstream.score_variance, rows);
  of_statistics |= check("upstream collision", upstream.collision, rows);
  if (!any && !of_statistics) throw Error("upstream", "absent", "a gradient of the output or of a statistic");
  if (of_statistics && !problem.map.is_softmax())
    throw Error("upstream statistics", "given with the map " + problem.map.name(), "softmax, gumbel or top_k");
}

Statistics available_statistics(const AttentionProblem& problem) {
  const Statistics& asked = problem.statistics;
  std::uint32_t bits = asked.bits();
  const auto drop = [&](Statistic statistic, bool defined) {
    if (!defined) bits &= ~(1u << static_cast<int>(statistic));
  };
  const bool softmax = problem.map.is_softmax(), distribution = problem.map.is_distribution();
  for (Statistic statistic : {Statistic::log_partition, Statistic::mean_score, Statistic::score_variance})
    drop(statistic, softmax);
  for (Statistic statistic : {Statistic::entropy, Statistic::normalised_entropy, Statistic::effective_keys})
    drop(statistic, distribution);
  for (Statistic statistic :
       {Statistic::first_mass, Statistic::recent_mass, Statistic::entropy_without_first, Statistic::mean_distance})
    drop(statistic, problem.map.streams());
  drop(Statistic::sink_mass, problem.sink.has_value());
  if (problem.map.kind() == ScoreMap::Kind::linear || problem.map.kind() == ScoreMap::Kind::decay) {
    const bool quadratic = problem.map.form() == LinearForm::quadratic;
    for (Statistic statistic : {Statistic::peak, Statistic::argmax, Statistic::max_score, Statistic::entropy,
                                Statistic::normalised_entropy, Statistic::effective_keys})
      drop(statistic, quadratic);
    const bool signed_weights =
        problem.map.kind() == ScoreMap::Kind::linear && problem.map.feature() == Feature::identity;
    for (Statistic statistic : {Statistic::sparsity, Statistic::participation})
      drop(statistic, quadratic || !signed_weights);
  }
  const std::uint32_t missing = asked.bits() & ~bits;
  if (missing != 0 && !asked.lenient()) {
    const auto first = static_cast<Statistic>(__builtin_ctz(missing));
    if (first == Statistic::sink_mass) throw Error("statistic", name(first), "a problem with a sink");
    throw Error("statistic", name(first), std::string("one that is defined for the map ") + problem.map.name());
  }
  return asked.intersect(bits);
}

void require_streaming_map(const AttentionProblem& problem, const char* pass) {
  if (!problem.map.streams() || problem.map.sample() == GumbelSample::straight_through)
    throw Error(std::string(pass) + " map", problem.map.name(), "softmax, or gumbel with relaxed samples");
}

}  // namespace isentropic
