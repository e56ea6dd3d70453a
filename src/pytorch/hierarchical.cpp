// isentropic::hierarchical_attention: two-level attention (hierarchical_attention.hpp), with gradients of its output.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "isentropic/hierarchical_attention.hpp"
#include "pytorch/cpu_call.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

// output [batch, heads, n_q, d_v]; entropy, block_entropy, within_entropy [batch, heads, n_q].
using Forward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using Backward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

struct Levels {
  std::int64_t block;
  bool exact;  // blocks are scored by their log-partition, otherwise by their mean key
  std::optional<double> block_scale;

  HierarchicalProblem with(const AttentionProblem& attention) const {
    return {.attention = attention,
            .block = block,
            .score = exact ? BlockScore::log_partition : BlockScore::mean_key,
            .block_scale = block_scale ? Scale::constant(*block_scale) : Scale::inverse_sqrt_d()};
  }
};

Forward forward_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                    at::TensorList terms, std::int64_t block, bool exact, std::optional<double> block_scale) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, value, terms);
    HierarchicalResult found = isentropic::hierarchical_attention(Levels{block, exact, block_scale}.with(on.problem));
    return Forward(to_torch(std::move(found.output)), to_torch(std::move(found.entropy)),
                   to_torch(std::move(found.block_entropy)), to_torch(std::move(found.within_entropy)));
  });
}

// Repeats the forward pass: its state is a handful of records per block, too much to be worth saving.
Backward backward_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                      at::TensorList terms, std::int64_t block, bool exact, std::optional<double> block_scale,
                      const at::Tensor& gradient) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, value, terms);
    const HierarchicalProblem problem = Levels{block, exact, block_scale}.with(on.problem);
    const at::Tensor rows = with_contiguous_rows(gradient);
    HierarchicalGradients found = isentropic::hierarchical_attention_backward(
        problem, isentropic::hierarchical_attention(problem), view_of(rows, "gradient of the output"));
    return Backward(to_torch(std::move(found.query)), to_torch(std::move(found.key)), to_torch(std::move(found.value)));
  });
}

Forward forward_meta(c10::string_view, const at::Tensor& query, const at::Tensor&, const at::Tensor& value,
                     at::TensorList, std::int64_t, bool, std::optional<double>) {
  const c10::SymInt batch = query.sym_size(0), heads = query.sym_size(1), n_q = query.sym_size(2);
  const at::TensorOptions real = query.options().dtype(statistics_type(query));
  const auto rows = [&] { return at::empty_symint({batch, heads, n_q}, real); };
  return {at::empty_symint({batch, heads, n_q, value.sym_size(3)}, query.options()), rows(), rows(), rows()};
}

Backward backward_meta(c10::string_view, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       at::TensorList, std::int64_t, bool, std::optional<double>, const at::Tensor&) {
  const auto like = [&](const at::Tensor& x) { return at::empty_symint(x.sym_sizes(), query.options()); };
  return {like(query), like(key), like(value)};
}

Forward forward_op(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   at::TensorList terms, std::int64_t block, bool exact, std::optional<double> block_scale) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::hierarchical_attention", "")
                                    .typed<decltype(forward_cpu)>();
  return operation.call(text, query, key, value, terms, block, exact, block_scale);
}

Backward backward_op(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     at::TensorList terms, std::int64_t block, bool exact, std::optional<double> block_scale,
                     const at::Tensor& gradient) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::hierarchical_attention_backward", "")
                                    .typed<decltype(backward_cpu)>();
  return operation.call(text, query, key, value, terms, block, exact, block_scale, gradient);
}

class Hierarchical : public torch::autograd::Function<Hierarchical> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static List forward(Context* context, const std::string& text, const at::Tensor& query, const at::Tensor& key,
                      const at::Tensor& value, at::TensorList terms, std::int64_t block, bool exact,
                      std::optional<double> block_scale) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, entropy, of_blocks, within] = forward_op(text, query, key, value, terms, block, exact, block_scale);
    List saved = {query, key, value};
    saved.insert(saved.end(), terms.begin(), terms.end());
    context->save_for_backward(saved);
    context->saved_data["text"] = text;
    context->saved_data["block"] = block;
    context->saved_data["exact"] = exact;
    context->saved_data["block_scale"] = block_scale;
    context->mark_non_differentiable({entropy, of_blocks, within});
    return {output, entropy, of_blocks, within};
  }

  static List backward(Context* context, const List& gradients) {
    const List saved = context->get_saved_variables();
    const List terms(saved.begin() + 3, saved.end());
    auto data = context->saved_data;
    const auto [query, key, value] =
        backward_op(data["text"].toStringRef(), saved[0], saved[1], saved[2], terms, data["block"].toInt(),
                    data["exact"].toBool(), data["block_scale"].toOptional<double>(), gradients[0]);
    List out(4 + terms.size() + 3);
    out[1] = query, out[2] = key, out[3] = value;
    return out;
  }
};

Forward forward_autograd(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         at::TensorList terms, std::int64_t block, bool exact, std::optional<double> block_scale) {
  for (const at::Tensor& term : terms)
    TORCH_CHECK_NOT_IMPLEMENTED(!(term.requires_grad() && at::GradMode::is_enabled()),
                                "hierarchical attention takes scales and biases as constants; detach them");
  const auto out = Hierarchical::apply(std::string(text), query, key, value, terms, block, exact, block_scale);
  return {out[0], out[1], out[2], out[3]};
}

Backward backward_autograd(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                           const at::Tensor& value, at::TensorList terms, std::int64_t block, bool exact,
                           std::optional<double> block_scale, const at::Tensor& gradient) {
  refuse_second_derivative({query, key, value, gradient});
  const at::AutoDispatchBelowADInplaceOrView below;
  return backward_op(text, query, key, value, terms, block, exact, block_scale, gradient);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "hierarchical_attention(str problem, Tensor query, Tensor key, Tensor value, Tensor[] terms, int block,"
      " bool exact, float? block_scale)"
      " -> (Tensor output, Tensor entropy, Tensor block_entropy, Tensor within_entropy)");
  library.def(
      "hierarchical_attention_backward(str problem, Tensor query, Tensor key, Tensor value, Tensor[] terms, int block,"
      " bool exact, float? block_scale, Tensor gradient) -> (Tensor query, Tensor key, Tensor value)");
}

TORCH_LIBRARY_IMPL(isentropic, CPU, library) {
  library.impl("hierarchical_attention", forward_cpu);
  library.impl("hierarchical_attention_backward", backward_cpu);
}
TORCH_LIBRARY_IMPL(isentropic, Meta, library) {
  library.impl("hierarchical_attention", forward_meta);
  library.impl("hierarchical_attention_backward", backward_meta);
}
TORCH_LIBRARY_IMPL(isentropic, Autograd, library) {
  library.impl("hierarchical_attention", forward_autograd);
  library.impl("hierarchical_attention_backward", backward_autograd);
}

}  // namespace isentropic::pytorch
