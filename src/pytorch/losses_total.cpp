// isentropic::softmax_loss_total: a weighted sum of a loss's rows, whose gradients may be computed along with it.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "pytorch/errors.hpp"
#include "pytorch/losses.hpp"

namespace isentropic::pytorch {

namespace {

using OptionalTensor = std::optional<at::Tensor>;

// In place. The factor gets an axis to take part in type promotion: a 0-dim one would be rounded to 16 bits.
at::Tensor scaled(at::Tensor gradient, const at::Tensor& factor) {
  return at::mul_out(gradient, gradient, factor.reshape({1}));
}

at::Tensor sum_of(const at::Tensor& x, const at::Tensor& y) { return x.defined() ? x + y : y; }

class SoftmaxLossTotal : public torch::autograd::Function<SoftmaxLossTotal> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static List forward(Context* context, const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                      const at::Tensor& scale, const OptionalTensor& bias, const at::Tensor& weights,
                      std::optional<double> soft_cap, bool exclude_self, double loss_factor, double partition_factor,
                      double square_factor, bool form_gradients) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [total, loss, log_partition, entropy, records, d_query, d_key, d_scale, d_bias] =
        softmax_loss_total(query, key, target, scale, bias, weights, soft_cap, exclude_self, loss_factor,
                           partition_factor, square_factor, form_gradients);
    context->save_for_backward(
        {query, key, target, scale, bias.value_or(at::Tensor()), weights, loss, log_partition, records});
    if (form_gradients) context->saved_data[kGradients] = std::vector<at::Tensor>{d_query, d_key, d_scale, d_bias};
    context->saved_data["soft_cap"] = soft_cap;
    context->saved_data["exclude_self"] = exclude_self;
    context->saved_data["factors"] = std::vector<double>{loss_factor, partition_factor, square_factor};
    context->mark_non_differentiable({records, d_query, d_key, d_scale, d_bias});
    context->set_materialize_grads(false);
    return {total, loss, log_partition, entropy, records, d_query, d_key, d_scale, d_bias};
  }

  static List backward(Context* context, const List& gradients) {
    const List saved = context->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &scale = saved[3], &bias = saved[4], &of_total = gradients[0];
    List out(12);
    const bool rows_alone = !of_total.defined();
    const bool total_alone = !gradients[1].defined() && !gradients[2].defined() && !gradients[3].defined();
    if (rows_alone && total_alone) return out;
    refuse_second_derivative({query, key, scale, bias, of_total, gradients[1], gradients[2], gradients[3]});
    const bool are_formed = total_alone && context->saved_data.count(kGradients) > 0;
    const auto [d_query, d_key, d_scale, d_bias] =
        are_formed ? formed_gradients(context, of_total) : from_rows(context, saved, gradients);
    out[0] = d_query;
    out[1] = d_key;
    out[3] = d_scale.reshape_symint(scale.sym_sizes()).to(scale.options());
    if (bias.defined()) out[4] = d_bias.to(bias.options());
    return out;
  }

 private:
  static constexpr const char* kGradients = "gradients";

  // Scaled in place and released: for a large batch they are most of the memory. Another backward pass over the same
  // graph recomputes the scores.
  static LossBackward formed_gradients(Context* context, const at::Tensor& of_total) {
    const std::vector<at::Tensor> formed = context->saved_data[kGradients].toTensorVector();
    context->saved_data.erase(kGradients);
    return {scaled(formed[0], of_total), scaled(formed[1], of_total), formed[2] * of_total, formed[3] * of_total};
  }

  // A result other than the total was used as well: the scores are recomputed.
  static LossBackward from_rows(Context* context, const List& saved, const List& gradients) {
    at::Tensor of_loss = gradients[1], of_log_partition = gradients[2];
    if (gradients[0].defined()) {
      const std::vector<double> factors = context->saved_data["factors"].toDoubleVector();
      const auto [loss, log_partition] = upstream_of_total(saved[5], saved[7], factors[0], factors[1], factors[2]);
      of_loss = sum_of(of_loss, loss * gradients[0]);
      of_log_partition = sum_of(of_log_partition, log_partition * gradients[0]);
    }
    const auto given = [](const at::Tensor& x) { return x.defined() ? OptionalTensor(x) : std::nullopt; };
    return softmax_loss_backward(saved[0], saved[1], saved[2], saved[3], given(saved[4]),
                                 context->saved_data["soft_cap"].toOptional<double>(),
                                 context->saved_data["exclude_self"].toBool(), saved[6], saved[8], given(of_loss),
                                 given(of_log_partition), given(gradients[3]));
  }
};

LossTotal total_autograd(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                         const at::Tensor& scale, const OptionalTensor& bias, const at::Tensor& weights,
                         std::optional<double> soft_cap, bool exclude_self, double loss_factor, double partition_factor,
                         double square_factor, bool form_gradients) {
  const auto out = SoftmaxLossTotal::apply(query, key, target, scale, bias, weights, soft_cap, exclude_self,
                                           loss_factor, partition_factor, square_factor, form_gradients);
  return {out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], out[8]};
}

}  // namespace

TotalUpstream upstream_of_total(const at::Tensor& weights, const at::Tensor& log_partition, double loss_factor,
                                double partition_factor, double square_factor) {
  at::Tensor slope = at::full_like(weights, partition_factor);
  if (square_factor != 0) slope = slope + 2 * square_factor * log_partition;
  // A weight of 0 excludes the row, even if it contains NaN.
  return {weights * loss_factor, at::where(weights.ne(0), weights * slope, 0.0)};
}

at::Tensor total_of_rows(const at::Tensor& weights, const at::Tensor& loss, const at::Tensor& log_partition,
                         double loss_factor, double partition_factor, double square_factor) {
  at::Tensor rows = at::zeros_like(weights);
  if (loss_factor != 0) rows = rows + loss_factor * loss;
  if (partition_factor != 0) rows = rows + partition_factor * log_partition;
  if (square_factor != 0) rows = rows + square_factor * log_partition.square();
  return at::where(weights.ne(0), weights * rows, 0.0).sum();
}

LossTotal loss_total_by_rows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                             const at::Tensor& scale, const OptionalTensor& bias, const at::Tensor& weights,
                             std::optional<double> soft_cap, bool exclude_self, double loss_factor,
                             double partition_factor, double square_factor, bool form_gradients) {
  const auto [loss, log_partition, entropy, records] =
      softmax_loss_forward(query, key, target, scale, bias, soft_cap, exclude_self);
  const at::Tensor total = total_of_rows(weights, loss, log_partition, loss_factor, partition_factor, square_factor);
  LossBackward gradients;
  if (form_gradients) {
    const auto upstream = upstream_of_total(weights, log_partition, loss_factor, partition_factor, square_factor);
    gradients = softmax_loss_backward(query, key, target, scale, bias, soft_cap, exclude_self, loss, records,
                                      upstream.loss, upstream.log_partition, std::nullopt);
  } else {
    const auto none = [&] { return at::empty({0}, query.options()); };
    gradients = {none(), none(), none(), none()};
  }
  const auto& [d_query, d_key, d_scale, d_bias] = gradients;
  return {total, loss, log_partition, entropy, records, d_query, d_key, d_scale, d_bias};
}

LossTotal softmax_loss_total(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                             const at::Tensor& scale, const OptionalTensor& bias, const at::Tensor& weights,
                             std::optional<double> soft_cap, bool exclude_self, double loss_factor,
                             double partition_factor, double square_factor, bool form_gradients) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::softmax_loss_total", "")
                                    .typed<decltype(softmax_loss_total)>();
  return operation.call(query, key, target, scale, bias, weights, soft_cap, exclude_self, loss_factor, partition_factor,
                        square_factor, form_gradients);
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "softmax_loss_total(Tensor query, Tensor key, Tensor target, Tensor scale, Tensor? bias, Tensor weights,"
      " float? soft_cap, bool exclude_self, float loss_factor, float partition_factor, float square_factor,"
      " bool form_gradients) -> (Tensor total, Tensor loss, Tensor log_partition, Tensor entropy, Tensor records,"
      " Tensor query_gradient, Tensor key_gradient, Tensor scale_gradient, Tensor bias_gradient)");
}

TORCH_LIBRARY_IMPL(isentropic, CPU, library) { library.impl("softmax_loss_total", loss_total_by_rows); }
TORCH_LIBRARY_IMPL(isentropic, Meta, library) { library.impl("softmax_loss_total", loss_total_by_rows); }
TORCH_LIBRARY_IMPL(isentropic, Autograd, library) { library.impl("softmax_loss_total", total_autograd); }

}  // namespace isentropic::pytorch
