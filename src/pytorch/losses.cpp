// isentropic::softmax_loss: the streaming softmax as a loss (softmax_loss.hpp), with gradients.
#include "pytorch/losses.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "isentropic/softmax_loss.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/loss_call.hpp"
#include "pytorch/row_state.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

using Forward = LossForward;
using Backward = LossBackward;
using OptionalTensor = std::optional<at::Tensor>;

at::Tensor rows_of(const SoftmaxLossResult& result, at::ScalarType type,
                   double (*statistic)(const SoftmaxRecord<double>&)) {
  at::Tensor out = at::empty({static_cast<std::int64_t>(result.records.size())}, at::kDouble);
  double* values = out.mutable_data_ptr<double>();
  for (std::size_t i = 0; i < result.records.size(); ++i) values[i] = statistic(result.records[i]);
  return out.to(type);
}

Forward forward_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
                    const OptionalTensor& bias, std::optional<double> soft_cap, bool exclude_self) {
  return with_python_errors([&] {
    const LossCall call(query, key, target, scale, bias, soft_cap, exclude_self);
    const SoftmaxLossResult result = softmax_loss(call.problem);
    const at::ScalarType type = statistics_type(query);
    return Forward(at::tensor(result.loss, at::kDouble).to(type), rows_of(result, type, log_partition<double>),
                   rows_of(result, type, entropy<double>), pack_records(result.records));
  });
}

Backward backward_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
                      const OptionalTensor& bias, std::optional<double> soft_cap, bool exclude_self,
                      const at::Tensor& loss, const at::Tensor& records, const OptionalTensor& loss_gradient,
                      const OptionalTensor& log_partition_gradient, const OptionalTensor& entropy_gradient) {
  return with_python_errors([&] {
    const LossCall call(query, key, target, scale, bias, soft_cap, exclude_self);
    SoftmaxLossResult result;
    result.records = unpack_records(records);
    const at::Tensor losses = loss.to(at::kDouble).contiguous();
    result.loss.assign(losses.const_data_ptr<double>(), losses.const_data_ptr<double>() + losses.numel());
    TensorKeepAlive keep_alive;
    const auto view = [&](const OptionalTensor& gradient) {
      return gradient ? keep_alive(*gradient, "gradient") : View();
    };
    SoftmaxLossGradients found = isentropic::softmax_loss_backward(
        call.problem, result, {view(loss_gradient), view(log_partition_gradient), view(entropy_gradient)});
    return Backward(to_torch(std::move(found.query)), to_torch(std::move(found.key)),
                    at::scalar_tensor(found.scale, at::TensorOptions().dtype(at::kDouble)),
                    to_torch(std::move(found.bias)));
  });
}

Forward forward_meta(const at::Tensor& query, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                     const OptionalTensor&, std::optional<double>, bool) {
  const auto rows = [&] {
    return at::empty_symint({query.sym_size(0)}, query.options().dtype(statistics_type(query)));
  };
  return {rows(), rows(), rows(), at::empty_symint({query.sym_size(0), kRecord}, query.options().dtype(at::kDouble))};
}

Backward backward_meta(const at::Tensor& query, const at::Tensor& key, const at::Tensor&, const at::Tensor&,
                       const OptionalTensor& bias, std::optional<double>, bool, const at::Tensor&, const at::Tensor&,
                       const OptionalTensor&, const OptionalTensor&, const OptionalTensor&) {
  const auto like = [&](const at::Tensor& x, at::ScalarType type) {
    return at::empty_symint(x.sym_sizes(), query.options().dtype(type));
  };
  return {like(query, query.scalar_type()), like(key, query.scalar_type()),
          at::empty({}, query.options().dtype(at::kDouble)),
          bias ? like(*bias, statistics_type(query)) : at::empty({0}, query.options().dtype(at::kFloat))};
}

class SoftmaxLoss : public torch::autograd::Function<SoftmaxLoss> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static List forward(Context* context, const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                      const at::Tensor& scale, const OptionalTensor& bias, std::optional<double> soft_cap,
                      bool exclude_self) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [loss, log_partition, entropy, records] =
        softmax_loss_forward(query, key, target, scale, bias, soft_cap, exclude_self);
    context->save_for_backward({query, key, target, scale, bias.value_or(at::Tensor()), loss, records});
    context->saved_data["soft_cap"] = soft_cap;
    context->saved_data["exclude_self"] = exclude_self;
    context->mark_non_differentiable({records});
    context->set_materialize_grads(false);
    return {loss, log_partition, entropy, records};
  }

  static List backward(Context* context, const List& gradients) {
    const List saved = context->get_saved_variables();
    const at::Tensor &scale = saved[3], &bias = saved[4];
    const auto given = [](const at::Tensor& x) { return x.defined() ? OptionalTensor(x) : std::nullopt; };
    List out(7);
    if (!gradients[0].defined() && !gradients[1].defined() && !gradients[2].defined()) return out;
    const auto [d_query, d_key, d_scale, d_bias] = softmax_loss_backward(
        saved[0], saved[1], saved[2], scale, given(bias), context->saved_data["soft_cap"].toOptional<double>(),
        context->saved_data["exclude_self"].toBool(), saved[5], saved[6], given(gradients[0]), given(gradients[1]),
        given(gradients[2]));
    out[0] = d_query;
    out[1] = d_key;
    out[3] = d_scale.reshape_symint(scale.sym_sizes()).to(scale.options());
    if (bias.defined()) out[4] = d_bias.to(bias.options());
    return out;
  }
};

Forward forward_autograd(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                         const at::Tensor& scale, const OptionalTensor& bias, std::optional<double> soft_cap,
                         bool exclude_self) {
  const auto out = SoftmaxLoss::apply(query, key, target, scale, bias, soft_cap, exclude_self);
  return {out[0], out[1], out[2], out[3]};
}

Backward backward_autograd(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                           const at::Tensor& scale, const OptionalTensor& bias, std::optional<double> soft_cap,
                           bool exclude_self, const at::Tensor& loss, const at::Tensor& records,
                           const OptionalTensor& loss_gradient, const OptionalTensor& log_partition_gradient,
                           const OptionalTensor& entropy_gradient) {
  refuse_second_derivative({query, key, scale, bias.value_or(at::Tensor()), loss_gradient.value_or(at::Tensor()),
                            log_partition_gradient.value_or(at::Tensor()), entropy_gradient.value_or(at::Tensor())});
  const at::AutoDispatchBelowADInplaceOrView below;
  return softmax_loss_backward(query, key, target, scale, bias, soft_cap, exclude_self, loss, records, loss_gradient,
                               log_partition_gradient, entropy_gradient);
}

}  // namespace

LossForward softmax_loss_forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                 const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                 std::optional<double> soft_cap, bool exclude_self) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::softmax_loss", "")
                                    .typed<decltype(softmax_loss_forward)>();
  return operation.call(query, key, target, scale, bias, soft_cap, exclude_self);
}

LossBackward softmax_loss_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                   const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                   std::optional<double> soft_cap, bool exclude_self, const at::Tensor& loss,
                                   const at::Tensor& records, const std::optional<at::Tensor>& loss_gradient,
                                   const std::optional<at::Tensor>& log_partition_gradient,
                                   const std::optional<at::Tensor>& entropy_gradient) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::softmax_loss_backward", "")
                                    .typed<decltype(softmax_loss_backward)>();
  return operation.call(query, key, target, scale, bias, soft_cap, exclude_self, loss, records, loss_gradient,
                        log_partition_gradient, entropy_gradient);
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "softmax_loss(Tensor query, Tensor key, Tensor target, Tensor scale, Tensor? bias, float? soft_cap,"
      " bool exclude_self) -> (Tensor loss, Tensor log_partition, Tensor entropy, Tensor records)");
  library.def(
      "softmax_loss_backward(Tensor query, Tensor key, Tensor target, Tensor scale, Tensor? bias, float? soft_cap,"
      " bool exclude_self, Tensor loss, Tensor records, Tensor? loss_gradient, Tensor? log_partition_gradient,"
      " Tensor? entropy_gradient)"
      " -> (Tensor query, Tensor key, Tensor scale, Tensor bias)");
}

TORCH_LIBRARY_IMPL(isentropic, CPU, library) {
  library.impl("softmax_loss", forward_cpu);
  library.impl("softmax_loss_backward", backward_cpu);
}
TORCH_LIBRARY_IMPL(isentropic, Meta, library) {
  library.impl("softmax_loss", forward_meta);
  library.impl("softmax_loss_backward", backward_meta);
}
TORCH_LIBRARY_IMPL(isentropic, Autograd, library) {
  library.impl("softmax_loss", forward_autograd);
  library.impl("softmax_loss_backward", backward_autograd);
}

}  // namespace isentropic::pytorch
