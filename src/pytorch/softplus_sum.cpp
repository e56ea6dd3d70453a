// isentropic::softplus_sum composed of PyTorch's operators, a block of queries at a time. The gradient needs the
// sigmoid of the same scores, which are recomputed.
#include "pytorch/softplus_sum.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "pytorch/errors.hpp"
#include "pytorch/row_blocks.hpp"

namespace isentropic::pytorch {
namespace {

// log log(1 + e^x), which is x if e^x is below the rounding error of 1.
at::Tensor log_softplus(const at::Tensor& x) {
  const at::Tensor near = x.clamp_min(-40);
  return at::where(x < -40, x, at::logaddexp(near, at::zeros_like(near)).log());
}

at::Tensor log_odds(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column, const at::Tensor& row,
                    std::int64_t begin, std::int64_t end) {
  const at::Tensor q = query.slice(0, begin, end);
  const at::Tensor products =
      noise.dim() == 2 ? at::matmul(q, noise.t()) : at::matmul(noise.slice(0, begin, end), q.unsqueeze(2)).squeeze(2);
  return products + (column.dim() == 1 ? column : column.slice(0, begin, end)) + row.slice(0, begin, end).unsqueeze(1);
}

template <class Work>
void for_each_block_of_queries(const at::Tensor& query, const at::Tensor& noise, std::int64_t held, Work work) {
  for_each_block(query.size(0), noise.size(-2), held > 0 ? held : numbers_held(query), work);
}

at::Tensor softplus_sum_blocks(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column,
                               const at::Tensor& row, double log_factor, std::int64_t held) {
  const at::Tensor out = at::empty({query.size(0)}, query.options());
  for_each_block_of_queries(query, noise, held, [&](std::int64_t begin, std::int64_t end) {
    const at::Tensor terms = log_softplus(log_odds(query, noise, column, row, begin, end)) + log_factor;
    out.slice(0, begin, end).copy_(terms.exp().sum(1));
  });
  return out;
}

SoftplusSumGradients softplus_sum_gradients(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column,
                                            const at::Tensor& row, double log_factor, std::int64_t held,
                                            const at::Tensor& gradient) {
  const auto zeros = [](const at::Tensor& x) { return at::zeros(x.sizes(), x.options()); };
  at::Tensor d_query = zeros(query), d_noise = zeros(noise), d_column = zeros(column), d_row = zeros(row);
  for_each_block_of_queries(query, noise, held, [&](std::int64_t begin, std::int64_t end) {
    const auto block = [&](const at::Tensor& x) { return x.slice(0, begin, end); };
    const at::Tensor odds = log_odds(query, noise, column, row, begin, end);
    const at::Tensor part = (at::log_sigmoid(odds) + log_factor).exp() * block(gradient).unsqueeze(1);
    if (noise.dim() == 2) {
      block(d_query).copy_(at::matmul(part, noise));
      d_noise.addmm_(part.t(), block(query));
    } else {
      block(d_query).copy_(at::matmul(part.unsqueeze(1), block(noise)).squeeze(1));
      block(d_noise).copy_(part.unsqueeze(2) * block(query).unsqueeze(1));
    }
    if (column.dim() == 1)
      d_column.add_(part.sum(0));
    else
      block(d_column).copy_(part);
    block(d_row).copy_(part.sum(1));
  });
  return {d_query, d_noise, d_column, d_row};
}

at::Tensor softplus_sum_meta(const at::Tensor& query, const at::Tensor&, const at::Tensor&, const at::Tensor&, double,
                             std::int64_t) {
  return at::empty_symint({query.sym_size(0)}, query.options());
}

SoftplusSumGradients softplus_sum_backward_meta(const at::Tensor& query, const at::Tensor& noise,
                                                const at::Tensor& column, const at::Tensor& row, double, std::int64_t,
                                                const at::Tensor&) {
  const auto like = [](const at::Tensor& x) { return at::empty_symint(x.sym_sizes(), x.options()); };
  return {like(query), like(noise), like(column), like(row)};
}

class SoftplusSum : public torch::autograd::Function<SoftplusSum> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static at::Tensor forward(Context* context, const at::Tensor& query, const at::Tensor& noise,
                            const at::Tensor& column, const at::Tensor& row, double log_factor, std::int64_t held) {
    const at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({query, noise, column, row});
    context->saved_data["log_factor"] = log_factor;
    context->saved_data["held"] = held;
    return softplus_sum(query, noise, column, row, log_factor, held);
  }

  static List backward(Context* context, const List& gradients) {
    const List saved = context->get_saved_variables();
    const auto [d_query, d_noise, d_column, d_row] =
        softplus_sum_backward(saved[0], saved[1], saved[2], saved[3], context->saved_data["log_factor"].toDouble(),
                              context->saved_data["held"].toInt(), gradients[0]);
    return {d_query, d_noise, d_column, d_row, at::Tensor(), at::Tensor()};
  }
};

at::Tensor softplus_sum_autograd(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column,
                                 const at::Tensor& row, double log_factor, std::int64_t held) {
  return SoftplusSum::apply(query, noise, column, row, log_factor, held);
}

SoftplusSumGradients softplus_sum_backward_autograd(const at::Tensor& query, const at::Tensor& noise,
                                                    const at::Tensor& column, const at::Tensor& row, double log_factor,
                                                    std::int64_t held, const at::Tensor& gradient) {
  refuse_second_derivative({query, noise, column, row, gradient});
  const at::AutoDispatchBelowADInplaceOrView below;
  return softplus_sum_backward(query, noise, column, row, log_factor, held, gradient);
}

}  // namespace

at::Tensor softplus_sum(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column,
                        const at::Tensor& row, double log_factor, std::int64_t held) {
  static const auto operation =
      c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::softplus_sum", "").typed<decltype(softplus_sum)>();
  return operation.call(query, noise, column, row, log_factor, held);
}

SoftplusSumGradients softplus_sum_backward(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column,
                                           const at::Tensor& row, double log_factor, std::int64_t held,
                                           const at::Tensor& gradient) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::softplus_sum_backward", "")
                                    .typed<decltype(softplus_sum_backward)>();
  return operation.call(query, noise, column, row, log_factor, held, gradient);
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "softplus_sum(Tensor query, Tensor noise, Tensor column, Tensor row, float log_factor, int held) -> Tensor");
  library.def(
      "softplus_sum_backward(Tensor query, Tensor noise, Tensor column, Tensor row, float log_factor, int held,"
      " Tensor gradient) -> (Tensor query, Tensor noise, Tensor column, Tensor row)");
}

TORCH_LIBRARY_IMPL(isentropic, CompositeExplicitAutograd, library) {
  library.impl("softplus_sum", softplus_sum_blocks);
  library.impl("softplus_sum_backward", softplus_sum_gradients);
}
TORCH_LIBRARY_IMPL(isentropic, Meta, library) {
  library.impl("softplus_sum", softplus_sum_meta);
  library.impl("softplus_sum_backward", softplus_sum_backward_meta);
}
TORCH_LIBRARY_IMPL(isentropic, Autograd, library) {
  library.impl("softplus_sum", softplus_sum_autograd);
  library.impl("softplus_sum_backward", softplus_sum_backward_autograd);
}

}  // namespace isentropic::pytorch
