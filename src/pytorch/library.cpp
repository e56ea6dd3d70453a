// The operators' schemas, and the device-independent part: shapes.
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include "isentropic/instruction_sets.hpp"
#include "pytorch/attention.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/cuda_kernels.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/row_state.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

TORCH_LIBRARY(isentropic, library) {
  library.def(
      "attention(str problem, Tensor query, Tensor key, Tensor? value, Tensor[] terms)"
      " -> (Tensor output, Tensor statistics, Tensor measures, Tensor counts, Tensor rows,"
      " Tensor row_counts, Tensor selected)");
  library.def(
      "attention_backward(str problem, Tensor query, Tensor key, Tensor? value, Tensor[] terms, Tensor output,"
      " Tensor rows, Tensor row_counts, Tensor selected, Tensor? output_gradient, Tensor? statistics_gradient,"
      " bool bias_gradient)"
      " -> (Tensor query, Tensor key, Tensor value, Tensor bias, Tensor sink, Tensor scale, Tensor map)");
  library.def(
      "attention_weights(str problem, Tensor query, Tensor key, Tensor[] terms, int[] rows, Tensor? finished=None,"
      " int first_key=0) -> Tensor");
  library.def(
      "attention_key_mass(str problem, Tensor query, Tensor key, Tensor[] terms, Tensor rows, Tensor row_counts,"
      " Tensor selected) -> Tensor");
  library.def("attention_layout(str problem) -> (str[], str[], str[])");
  library.def("instruction_sets() -> (str active, str[] usable)");
  library.def("has_cuda_kernels() -> bool");
  library.def("vocabulary() -> str");
}

namespace {

using Names = std::vector<std::string>;

// The names of the statistics, measures and counts that attention returns, in order.
std::tuple<Names, Names, Names> layout(c10::string_view text) {
  return with_python_errors([&] {
    const StatisticsLayout found(cached_spec(text)->without_tensors());
    const auto names = [](const std::vector<Statistic>& statistics) {
      Names out;
      for (Statistic statistic : statistics) out.emplace_back(name(statistic));
      return out;
    };
    return std::tuple(names(found.differentiable), names(found.measured), names(found.counted));
  });
}

// The instruction set that the CPU's kernels use, and those it could use, best first.
std::tuple<std::string, Names> instruction_sets_here() {
  return with_python_errors([&] {
    std::tuple<std::string, Names> out;
    for (const InstructionSet& set : instruction_sets()) {
      if (set.active) std::get<0>(out) = set.name;
      if (set.supported) std::get<1>(out).push_back(set.name);
    }
    return out;
  });
}

bool has_cuda_kernels() { return cuda_kernels() != nullptr; }

Forward forward_meta(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                     const std::optional<at::Tensor>& value, at::TensorList) {
  return with_python_errors([&] {
    if (query.dim() != 4 || key.dim() != 4 || (value && value->dim() != 4))
      throw Error("query, key or value", "without four axes", "[batch, heads, n, d]");
    const AttentionProblem problem = cached_spec(text)->without_tensors();
    const StatisticsLayout found(problem);
    const c10::SymInt batch = query.sym_size(0), heads = query.sym_size(1), n_q = query.sym_size(2);
    const at::TensorOptions options = query.options();
    const at::ScalarType real = statistics_type(query);
    const auto stacked = [&](auto count, at::ScalarType type) {
      return at::empty_symint({static_cast<std::int64_t>(count), batch, heads, n_q}, options.dtype(type));
    };
    at::Tensor output =
        value ? empty_in_order_of(query, std::vector<c10::SymInt>{batch, heads, n_q, value->sym_size(3)}, options)
              : at::empty({0}, options);
    at::Tensor selected = at::empty({0}, options.dtype(at::kLong));
    if (problem.map.kind() == ScoreMap::Kind::top_k)
      selected =
          at::empty_symint({batch, heads, n_q, key.sym_size(2).min(problem.map.keys())}, options.dtype(at::kLong));
    return Forward(std::move(output), stacked(found.differentiable.size(), real), stacked(found.measured.size(), real),
                   stacked(found.counted.size(), at::kLong), stacked(row_fields(problem), real),
                   stacked(kCounts, at::kLong), std::move(selected));
  });
}

Backward backward_meta(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                       const std::optional<at::Tensor>& value, at::TensorList terms, const at::Tensor&,
                       const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                       const std::optional<at::Tensor>&, bool bias_gradient) {
  return with_python_errors([&] {
    const std::shared_ptr<const ProblemSpec> spec = cached_spec(text);
    const at::TensorOptions real = query.options().dtype(statistics_type(query));
    const auto like = [&](const at::Tensor& tensor) {
      return empty_in_order_of(tensor, tensor.sym_sizes(), query.options());
    };
    const std::optional<std::size_t> bias = spec->place("bias"), sink = spec->place("sink");
    const c10::SymInt batch = query.sym_size(0), heads = query.sym_size(1), n_q = query.sym_size(2);
    const int parameters = spec->scale.learnable();
    at::Tensor scale = at::empty({0}, query.options().dtype(at::kFloat));
    if (spec->scale.is_per_row())
      scale = at::empty_symint({batch, heads, n_q}, real);
    else if (parameters > 0)
      scale = at::empty_symint({parameters, heads}, real);
    at::Tensor bias_out = at::empty({0}, query.options().dtype(at::kFloat));
    if (bias && bias_gradient)
      bias_out = spec->bias == Bias::Kind::alibi ? at::empty_symint({heads}, real)
                                                 : at::empty_symint(terms[*bias].sym_sizes(), real);
    return Backward(
        like(query), like(key), value ? like(*value) : at::empty({0}, query.options()), std::move(bias_out),
        sink ? at::empty_symint({heads}, real) : at::empty({0}, query.options().dtype(at::kFloat)), std::move(scale),
        spec->map.learnable() ? at::empty_symint({heads}, real) : at::empty({0}, query.options().dtype(at::kFloat)));
  });
}

at::Tensor weights_meta(c10::string_view, const at::Tensor& query, const at::Tensor& key, at::TensorList,
                        at::IntArrayRef rows, const std::optional<at::Tensor>&, std::int64_t first_key) {
  return at::empty_symint(
      {query.sym_size(0), query.sym_size(1), static_cast<std::int64_t>(rows.size()), key.sym_size(2) - first_key},
      query.options().dtype(statistics_type(query)));
}

at::Tensor key_mass_meta(c10::string_view, const at::Tensor& query, const at::Tensor& key, at::TensorList,
                         const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  return at::empty_symint({query.sym_size(0), query.sym_size(1), key.sym_size(2)},
                          query.options().dtype(statistics_type(query)));
}

}  // namespace

Forward attention_forward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                          const std::optional<at::Tensor>& value, at::TensorList terms) {
  static const auto operation =
      c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::attention", "").typed<decltype(attention_forward)>();
  return operation.call(problem, query, key, value, terms);
}

Backward attention_backward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                            const std::optional<at::Tensor>& value, at::TensorList terms, const at::Tensor& output,
                            const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& selected,
                            const std::optional<at::Tensor>& output_gradient,
                            const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::attention_backward", "")
                                    .typed<decltype(attention_backward)>();
  return operation.call(problem, query, key, value, terms, output, rows, row_counts, selected, output_gradient,
                        statistics_gradient, bias_gradient);
}

TORCH_LIBRARY_IMPL(isentropic, CompositeImplicitAutograd, library) {
  library.impl("attention_layout", layout);
  library.impl("instruction_sets", instruction_sets_here);
  library.impl("has_cuda_kernels", has_cuda_kernels);
  library.impl("vocabulary", vocabulary_json);
}

TORCH_LIBRARY_IMPL(isentropic, Meta, library) {
  library.impl("attention", forward_meta);
  library.impl("attention_backward", backward_meta);
  library.impl("attention_weights", weights_meta);
  library.impl("attention_key_mass", key_mass_meta);
}

// Operators without a kernel or fallback on a GPU run on copies on the CPU.
void run_on_cpu(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
}

TORCH_LIBRARY_IMPL(isentropic, CUDA, library) {
  for (const char* name : {"hierarchical_attention", "hierarchical_attention_backward"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}

}  // namespace isentropic::pytorch
