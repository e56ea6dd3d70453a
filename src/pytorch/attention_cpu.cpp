// The operators on the CPU: each calls the library.
#include <torch/library.h>

#include "pytorch/attention.hpp"
#include "pytorch/cpu_call.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/row_state.hpp"
#include "pytorch/tensors.hpp"
#include "pytorch/upstream.hpp"

namespace isentropic::pytorch {
namespace {

Forward forward_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                    const std::optional<at::Tensor>& value, at::TensorList terms) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, value, terms);
    const AttentionProblem& problem = on.problem;
    AttentionResult result = value ? isentropic::attention(problem) : isentropic::attention_statistics(problem);
    auto [statistics, measures, counts] = stack_statistics(problem, result.statistics);
    auto [rows, row_counts] = pack_rows(problem, result);
    at::Tensor selected = result.selected.present() ? to_torch(std::move(result.selected)) : at::empty({0}, at::kLong);
    at::Tensor output =
        value ? in_order_of(query, to_torch(std::move(result.output))) : at::empty({0}, query.options());
    return Forward(std::move(output), std::move(statistics), std::move(measures), std::move(counts), std::move(rows),
                   std::move(row_counts), std::move(selected));
  });
}

Backward backward_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                      const std::optional<at::Tensor>& value, at::TensorList terms, const at::Tensor& output,
                      const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& selected,
                      const std::optional<at::Tensor>& output_gradient,
                      const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, value, terms);
    const AttentionProblem& problem = on.problem;
    const AttentionResult result = unpack_rows(problem, rows, row_counts, output, selected);
    const Upstream upstream(problem, result, output_gradient, statistics_gradient);
    AttentionGradients found = isentropic::attention_backward(
        problem, result, upstream.views(), bias_gradient ? BiasGradient::compute : BiasGradient::skip);
    const auto or_zeros = [&](Tensor& gradient, const std::optional<at::Tensor>& of) {
      if (!of) return at::empty({0}, query.options());
      if (gradient.present()) return in_order_of(*of, to_torch(std::move(gradient)));
      return empty_in_order_of(*of, of->sym_sizes(), query.options()).zero_();
    };
    at::Tensor sink = to_torch(std::move(found.sink));
    if (problem.sink) sink = sink + upstream.sink_share().to(sink.scalar_type());
    std::vector<at::Tensor> parameters;
    for (Tensor& parameter : found.scale_parameters) parameters.push_back(to_torch(std::move(parameter)));
    at::Tensor scale = problem.scale.is_per_row() ? to_torch(std::move(found.lambda))
                       : parameters.empty()       ? at::empty({0}, at::kFloat)
                                                  : at::stack(parameters);
    return Backward(or_zeros(found.query, query), or_zeros(found.key, key), or_zeros(found.value, value),
                    to_torch(std::move(found.bias)), std::move(sink), std::move(scale),
                    to_torch(std::move(found.alpha)));
  });
}

// Weights [batch, heads, rows, n_k - first_key] of some rows, for the keys from first_key on, before dropout; no
// gradient. Finished records would save nothing here: whole rows are computed anyway.
at::Tensor weights_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key, at::TensorList terms,
                       at::IntArrayRef rows, const std::optional<at::Tensor>&, std::int64_t first_key) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, std::nullopt, terms);
    at::Tensor all = to_torch(isentropic::attention_weights(on.problem, rows.vec()));
    return first_key == 0 ? all : all.slice(3, first_key).contiguous();
  });
}

// Column sums [batch, heads, n_k]; no gradient.
at::Tensor key_mass_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key, at::TensorList terms,
                        const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& selected) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, std::nullopt, terms);
    return to_torch(isentropic::attention_key_mass(
        on.problem, unpack_rows(on.problem, rows, row_counts, at::empty({0}, query.options()), selected)));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(isentropic, CPU, library) {
  library.impl("attention", forward_cpu);
  library.impl("attention_backward", backward_cpu);
  library.impl("attention_weights", weights_cpu);
  library.impl("attention_key_mass", key_mass_cpu);
}

}  // namespace isentropic::pytorch
