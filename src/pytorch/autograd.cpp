// Gradients of the operators.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>

#include "attention/problem/problem_spec.hpp"
#include "pytorch/attention.hpp"
#include "pytorch/errors.hpp"

namespace isentropic::pytorch {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A parameter may be one number for all heads, or broadcast along axes: the gradient is summed over these.
at::Tensor for_parameter(const at::Tensor& gradient, const at::Tensor& parameter) {
  if (parameter.dim() <= gradient.dim()) return at::sum_to(gradient, parameter.sym_sizes()).to(parameter.options());
  const at::Tensor by_head = parameter.sym_numel() == 1 ? gradient.sum() : gradient;
  return by_head.reshape_symint(parameter.sym_sizes()).to(parameter.options());
}

// Checkpointing compares the shapes of saved tensors with those of the repeated pass, which may be one without
// statistics. So the fields that not every pass has (row_state.hpp) are saved separately; missing ones are replaced by
// views of the others, recognised by their strides of 0.
using RowParts = std::array<at::Tensor, 3>;

RowParts parts_of(const at::Tensor& rows) {
  const std::int64_t fields = rows.sym_size(0).guard_int(__FILE__, __LINE__);  // never a symbol
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    if (end <= fields) return rows.narrow(0, begin, end - begin);
    return at::as_strided_symint(rows, {end - begin, rows.sym_size(1), rows.sym_size(2), rows.sym_size(3)},
                                 std::vector<c10::SymInt>(4, 0));
  };
  return {rows.narrow(0, 0, std::min<std::int64_t>(fields, 3)), part(3, 4), part(4, 6)};
}

at::Tensor rows_of(const RowParts& parts) {
  const auto is_there = [](const at::Tensor& part) { return part.sym_stride(3) != 0; };
  if (is_there(parts[2])) return at::cat({parts[0], parts[1], parts[2]});
  return is_there(parts[1]) ? at::cat({parts[0], parts[1]}) : parts[0];
}

// Gradients of the terms at `places`, from the results of attention_backward; undefined if a term has none.
std::vector<at::Tensor> term_gradients(c10::string_view problem, at::TensorList terms, const at::Tensor& bias,
                                       const at::Tensor& sink, const at::Tensor& scale, const at::Tensor& map,
                                       at::IntArrayRef places) {
  const std::shared_ptr<const ProblemSpec> spec = cached_spec(problem);
  const std::vector<std::size_t> scale_places = spec->scale_places();
  const auto of_term = [&](std::size_t place) -> at::Tensor {
    for (const auto& [name, gradient] : {std::pair("bias", bias), std::pair("sink", sink), std::pair("map", map)})
      if (spec->place(name) == place) return for_parameter(gradient, terms[place]);
    const auto found = std::ranges::find(scale_places, place);
    const bool per_row = spec->scale.is_per_row();
    // The target of a target entropy has no gradient.
    if (found == scale_places.end() || (!per_row && spec->scale.learnable() == 0)) return {};
    const std::size_t parameter =
        per_row ? 0 : spec->scale_tensors[static_cast<std::size_t>(found - scale_places.begin())];
    return for_parameter(per_row ? scale : scale.select(0, static_cast<std::int64_t>(parameter)), terms[place]);
  };
  std::vector<at::Tensor> out;
  for (const std::int64_t place : places) out.push_back(of_term(static_cast<std::size_t>(place)));
  return out;
}

// The operator of that name: an empty tensor if a term has no gradient.
std::vector<at::Tensor> term_gradients_operator(c10::string_view problem, at::TensorList terms, const at::Tensor& bias,
                                                const at::Tensor& sink, const at::Tensor& scale, const at::Tensor& map,
                                                at::IntArrayRef places) {
  std::vector<at::Tensor> out = term_gradients(problem, terms, bias, sink, scale, map, places);
  for (at::Tensor& gradient : out)
    if (!gradient.defined()) gradient = at::empty({0}, sink.options());
  return out;
}

class Attention : public torch::autograd::Function<Attention> {
 public:
  static variable_list forward(AutogradContext* context, const std::string& problem, const at::Tensor& query,
                               const at::Tensor& key, const std::optional<at::Tensor>& value, at::TensorList terms) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, statistics, measures, counts, rows, row_counts, selected] =
        attention_forward(problem, query, key, value, terms);
    const auto [first, u, w_and_c] = parts_of(rows);
    variable_list saved = {query, key, value.value_or(at::Tensor()), output, first, u, w_and_c, row_counts, selected};
    saved.insert(saved.end(), terms.begin(), terms.end());
    context->save_for_backward(saved);
    context->saved_data["problem"] = problem;
    context->mark_non_differentiable({measures, counts, rows, row_counts, selected});
    context->set_materialize_grads(false);
    return {output, statistics, measures, counts, rows, row_counts, selected};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &output = saved[3], &row_counts = saved[7],
                     &selected = saved[8];
    const std::optional<at::Tensor> value = saved[2].defined() ? std::optional(saved[2]) : std::nullopt;
    const variable_list terms(saved.begin() + 9, saved.end());
    const std::string problem = context->saved_data["problem"].toStringRef();
    constexpr std::size_t kFirstTerm = 4;  // arguments of forward: problem, query, key, value, terms...
    variable_list out(kFirstTerm + terms.size());
    const auto given = [](const at::Tensor& tensor) { return tensor.defined() ? std::optional(tensor) : std::nullopt; };
    if (!gradients[0].defined() && !gradients[1].defined()) return out;
    const std::shared_ptr<const ProblemSpec> spec = cached_spec(problem);
    const at::Tensor rows = rows_of({saved[4], saved[5], saved[6]});
    const auto wanted = [&](std::optional<std::size_t> place) {
      const std::size_t tensors_before = value ? 3 : 2;  // only tensors are counted here
      return place && context->needs_input_grad(tensors_before + *place);
    };
    const auto [query_gradient, key_gradient, value_gradient, bias, sink, scale, map] =
        attention_backward(problem, query, key, value, terms, output, rows, row_counts, selected, given(gradients[0]),
                           given(gradients[1]), wanted(spec->place("bias")));
    out[1] = query_gradient;
    out[2] = key_gradient;
    if (value) out[3] = value_gradient;
    std::vector<std::int64_t> places;
    for (std::size_t place = 0; place < terms.size(); ++place)
      if (wanted(place)) places.push_back(static_cast<std::int64_t>(place));
    const std::vector<at::Tensor> found = term_gradients(problem, terms, bias, sink, scale, map, places);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (found[i].defined()) out[kFirstTerm + static_cast<std::size_t>(places[i])] = found[i];
    return out;
  }
};

// Whether to record a graph. Recording costs as much as a small problem itself.
bool is_differentiated(const at::Tensor& tensor) {
  return tensor.defined() && ((at::GradMode::is_enabled() && tensor.requires_grad()) || tensor._fw_grad(0).defined());
}

Forward forward_autograd(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                         const std::optional<at::Tensor>& value, at::TensorList terms) {
  if (!is_differentiated(query) && !is_differentiated(key) && !(value && is_differentiated(*value)) &&
      std::ranges::none_of(terms, is_differentiated)) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return attention_forward(problem, query, key, value, terms);
  }
  const variable_list out = Attention::apply(std::string(problem), query, key, value, terms);
  return {out[0], out[1], out[2], out[3], out[4], out[5], out[6]};
}

Backward backward_autograd(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                           const std::optional<at::Tensor>& value, at::TensorList terms, const at::Tensor& output,
                           const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& selected,
                           const std::optional<at::Tensor>& output_gradient,
                           const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient) {
  std::vector<at::Tensor> inputs = terms.vec();
  for (const at::Tensor& tensor : {query, key, value.value_or(at::Tensor()), output_gradient.value_or(at::Tensor()),
                                   statistics_gradient.value_or(at::Tensor())})
    inputs.push_back(tensor);
  refuse_second_derivative(inputs);
  const at::AutoDispatchBelowADInplaceOrView below;
  return attention_backward(problem, query, key, value, terms, output, rows, row_counts, selected, output_gradient,
                            statistics_gradient, bias_gradient);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "attention_term_gradients(str problem, Tensor[] terms, Tensor bias, Tensor sink, Tensor scale, Tensor map,"
      " int[] places) -> Tensor[]");
}

TORCH_LIBRARY_IMPL(isentropic, CompositeExplicitAutograd, library) {
  library.impl("attention_term_gradients", term_gradients_operator);
}

TORCH_LIBRARY_IMPL(isentropic, Autograd, library) {
  library.impl("attention", forward_autograd);
  library.impl("attention_backward", backward_autograd);
}

}  // namespace isentropic::pytorch
