// Calls the operators from C++: typed options become a problem's text and its tensors.
#include <ATen/core/dispatch/Dispatcher.h>

#include "attention/problem/problem_spec.hpp"
#include "isentropic/error.hpp"
#include "isentropic/pytorch/partial_attention.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/partial.hpp"

namespace isentropic::pytorch {
namespace {

// Options in the form the operators take.
struct Call {
  explicit Call(const AttentionOptions& options) {
    set_mask(options.mask);
    set_scale(options);
    set_map(options);
    add("mask", options.visible);
    set_bias(options);
    spec.soft_cap = options.soft_cap;
    add("sink", options.sink);
    spec.dropout = options.dropout;
    if (options.dropout > 0 || options.map.kind() == ScoreMap::Kind::gumbel)
      add("seed", options.seed.defined() ? options.seed : draw_seed());
    spec.statistics = options.statistics;
    spec.shard = options.shard;
    text = cached_text(spec);
  }

  ProblemSpec spec;
  std::string text;
  std::vector<at::Tensor> tensors;

 private:
  void add(const char* name, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    spec.tensors.emplace_back(name);
    tensors.push_back(tensor);
  }

  void set_mask(const Mask& mask) {
    if (mask.dense_part.present() || mask.block_sparse_part || mask.excluded_keys.present())
      throw Error("mask", "given with a dense or block-sparse part or with excluded keys",
                  "the tensor `visible` instead");
    spec.mask = mask;
    spec.mask.lengths.clear();
    spec.mask.document_offsets.clear();
    if (!mask.lengths.empty()) add("key_lengths", at::tensor(mask.lengths, at::kLong));
    if (mask.document_offsets.empty()) return;
    const auto offsets = [&](std::vector<std::int64_t> DocumentOffsets::*part) {
      std::vector<at::Tensor> rows;
      for (const DocumentOffsets& document : mask.document_offsets)
        rows.push_back(at::tensor(document.*part, at::kLong));
      return at::stack(rows);
    };
    add("query_offsets", offsets(&DocumentOffsets::query));
    add("key_offsets", offsets(&DocumentOffsets::key));
  }

  void set_scale(const AttentionOptions& options) {
    spec.scale = options.scale;
    const std::vector<Parameter>& parameters = options.scale.law().parameters;
    std::size_t used = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto given = options.scale_parameters.find(parameters[i].name);
      if (given == options.scale_parameters.end()) continue;
      ++used;
      add("scale", given->second);
      if (!options.scale.is_per_row()) spec.scale_tensors.push_back(i);
    }
    if (used < options.scale_parameters.size())
      throw Error("scale_parameters", "given with a name that the scale " + options.scale.name() + " does not have",
                  "names of its parameters");
  }

  void set_map(const AttentionOptions& options) {
    spec.map = options.map;
    if (options.alpha.defined() && options.map.kind() != ScoreMap::Kind::entmax)
      throw Error("alpha", "given with the map " + options.map.name(), "entmax");
    add("map", options.alpha);
  }

  void set_bias(const AttentionOptions& options) {
    for (const auto& [kind, tensor] :
         {std::pair(Bias::Kind::dense, options.bias), std::pair(Bias::Kind::alibi, options.alibi_slopes),
          std::pair(Bias::Kind::relative, options.relative_bias)}) {
      if (!tensor.defined()) continue;
      if (spec.bias != Bias::Kind::none)
        throw Error("bias", "given twice", "one of bias, alibi_slopes and relative_bias");
      spec.bias = kind;
      add("bias", tensor);
    }
  }
};

AttentionOutput named(const ProblemSpec& spec, const Forward& found) {
  const StatisticsLayout layout(spec.without_tensors());
  AttentionOutput out;
  out.output = std::get<0>(found);
  const auto name_rows = [&](const std::vector<Statistic>& names, const at::Tensor& stack) {
    for (std::size_t s = 0; s < names.size(); ++s)
      out.statistics.emplace(name(names[s]), stack.select(0, static_cast<std::int64_t>(s)));
  };
  name_rows(layout.differentiable, std::get<1>(found));
  name_rows(layout.measured, std::get<2>(found));
  name_rows(layout.counted, std::get<3>(found));
  out.rows = std::get<4>(found), out.row_counts = std::get<5>(found), out.selected = std::get<6>(found);
  return out;
}

}  // namespace

AttentionOutput attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const AttentionOptions& options) {
  return with_python_errors([&] {
    const Call call(options);
    return named(call.spec, attention_forward(call.text, query, key, value, call.tensors));
  });
}

PartialAttention attention_partial(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                   const AttentionOptions& options) {
  return with_python_errors([&] {
    const at::NoGradGuard no_gradient;
    const Call call(options);
    const auto [output, rows, row_counts, groups] = attention_partial(call.text, query, key, value, call.tensors);
    return PartialAttention{output, rows, row_counts, groups};
  });
}

PartialAttention merge(const PartialAttention& x, const PartialAttention& y) {
  const at::NoGradGuard no_gradient;
  const auto [output, rows, row_counts, groups] =
      attention_merge(x.output, x.rows, x.row_counts, x.groups, y.output, y.rows, y.row_counts, y.groups);
  return {output, rows, row_counts, groups};
}

AttentionOutput finish(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const AttentionOptions& options, const PartialAttention& part) {
  return with_python_errors([&] {
    const at::NoGradGuard no_gradient;
    const Call call(options);
    return named(call.spec, attention_finish(call.text, query, key, value, call.tensors, part.output, part.rows,
                                             part.row_counts, part.groups));
  });
}

GradientShares attention_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const AttentionOptions& options, const AttentionOutput& whole,
                                  const at::Tensor& output_gradient) {
  return with_python_errors([&] {
    const at::NoGradGuard no_gradient;
    const Call call(options);
    const auto [of_query, of_key, of_value, bias, sink, scale, map] =
        attention_backward(call.text, query, key, value, call.tensors, whole.output, whole.rows, whole.row_counts,
                           whole.selected, output_gradient, std::nullopt, call.spec.bias != Bias::Kind::none);
    return GradientShares{of_query, of_key, of_value, bias, sink, scale};
  });
}

at::Tensor attention_weights(const at::Tensor& query, const at::Tensor& key, const std::vector<std::int64_t>& rows,
                             const AttentionOptions& options) {
  return with_python_errors([&] {
    using Weights = at::Tensor(c10::string_view, const at::Tensor&, const at::Tensor&, at::TensorList, at::IntArrayRef,
                               const std::optional<at::Tensor>&, std::int64_t);
    static const auto operation =
        c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::attention_weights", "").typed<Weights>();
    const at::NoGradGuard no_gradient;
    const Call call(options);
    return operation.call(call.text, query, key, call.tensors, rows, std::nullopt, 0);
  });
}

at::Tensor key_mass(const at::Tensor& query, const at::Tensor& key, const AttentionOptions& options,
                    const AttentionOutput& forward) {
  return with_python_errors([&] {
    using KeyMass = at::Tensor(c10::string_view, const at::Tensor&, const at::Tensor&, at::TensorList,
                               const at::Tensor&, const at::Tensor&, const at::Tensor&);
    static const auto operation =
        c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::attention_key_mass", "").typed<KeyMass>();
    const at::NoGradGuard no_gradient;
    const Call call(options);
    return operation.call(call.text, query, key, call.tensors, forward.rows, forward.row_counts, forward.selected);
  });
}

at::Tensor draw_seed() { return at::randint(std::int64_t{1} << 62, {1}, at::kLong); }

std::vector<std::pair<std::string, at::Tensor>> learnable_parameters(const Scale& scale, std::int64_t heads) {
  std::vector<std::pair<std::string, at::Tensor>> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scale.learnable()); ++i) {
    const std::string& name = scale.law().parameters[i].name;
    const std::vector<double>& numbers = scale.parameters()[i].values();
    const auto count = static_cast<std::int64_t>(numbers.size());
    TORCH_CHECK_VALUE(count == 1 || count == heads, name, " of the scale ", scale.name(), " is given with ", count,
                      " numbers; expected one, or one for each of ", heads, " heads");
    out.emplace_back(name, at::tensor(numbers, at::TensorOptions()).expand({heads}).contiguous());
  }
  return out;
}

}  // namespace isentropic::pytorch
