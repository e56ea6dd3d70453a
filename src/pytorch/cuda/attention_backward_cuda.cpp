// The backward operator on the CUDA kernels.
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <utility>

#include "attention/cuda/plain.hpp"
#include "attention/cuda/tensor_cores.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/cuda/attention_cuda.hpp"
#include "pytorch/cuda/stream.hpp"

namespace isentropic::pytorch {
namespace {

// The constants that the upstream gradients of statistics require.
struct WantedConstants {
  bool first = false, second = false;  // a1; a2 and a3

  explicit WantedConstants(const std::vector<Statistic>& names) {
    for (const Statistic name : names) switch (name) {
        case Statistic::entropy:
        case Statistic::mean_score:
        case Statistic::normalised_entropy:
        case Statistic::effective_keys:
          first = true;
          break;
        case Statistic::score_variance:
          first = second = true;
          break;
        case Statistic::collision:
        case Statistic::participation:
        case Statistic::sparsity:
          second = true;
          break;
        default:
          break;
      }
  }
};

class BackwardCall {
 public:
  BackwardCall(DeviceProblem& on, const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
               const std::optional<at::Tensor>& output_gradient, const std::optional<at::Tensor>& statistics_gradient)
      : on_(on), arrays_(arrays_of(rows, row_counts)), row_counts_(row_counts) {
    const StatisticsLayout layout(on.problem);
    const bool of_statistics = statistics_gradient && statistics_gradient->defined() && !layout.differentiable.empty();
    if (of_statistics && rows.size(0) < row_fields(on.problem))
      throw Error("the forward pass that checkpointing repeated", "without the statistics whose gradient is wanted",
                  "a backward pass inside of the same isentropic.collect(..., detach=False)");
    const WantedConstants wanted(of_statistics ? layout.differentiable : std::vector<Statistic>());
    set_upstream(output, output_gradient);
    if (of_statistics) {
      const at::Tensor gradients = on.keep(statistics_gradient->to(on.real).contiguous());
      for (std::size_t s = 0; s < layout.differentiable.size(); ++s)
        upstream_.statistics[static_cast<int>(layout.differentiable[s])] =
            gradients.select(0, static_cast<std::int64_t>(s)).const_data_ptr();
    }
    const bool implicit = is_implicit();
    const auto numbers = [&](bool is_wanted) { return is_wanted ? row_numbers().mutable_data_ptr() : nullptr; };
    call_.rows.log_partition = numbers(true), call_.rows.mean_score = numbers(true);
    call_.rows.gate = numbers(true), call_.rows.base = numbers(true);
    call_.rows.a1 = numbers(wanted.first || implicit);
    call_.rows.a2 = numbers(wanted.second), call_.rows.a3 = numbers(wanted.second);
    if (on.device.sink) sink_shares_ = row_numbers();
    require_launched(cuda::row_constants(on.device, arrays_, upstream_, call_.rows,
                                         sink_shares_.defined() ? sink_shares_.mutable_data_ptr() : nullptr,
                                         on.stream));
    call_.rows.max_score = arrays_.m;
    call_.deterministic = at::globalContext().deterministicAlgorithms();
  }

  Backward run(const at::Tensor& query, const at::Tensor& key, const std::optional<at::Tensor>& value,
               bool bias_gradient) {
    if (is_implicit()) add_implicit_term();
    const cuda::Problem& p = on_.device;
    const auto like = [&](const at::Tensor& x, void*& data, cuda::Strides& stride) {
      at::Tensor out = empty_in_order_of(x, x.sym_sizes(), x.options());
      data = out.mutable_data_ptr(), stride = strides_of(out);
      return out;
    };
    cuda::Gradients& to = call_.gradients;
    at::Tensor query_gradient = like(query, to.query, to.query_stride), key_gradient = like(key, to.key, to.key_stride);
    at::Tensor value_gradient = value ? like(*value, to.value, to.value_stride) : at::empty({0}, query.options());
    const bool scales = on_.spec->scale.learnable() > 0 || on_.spec->scale.is_per_row();
    at::Tensor lambda, bias = on_.empty({0}, at::kFloat), sink = on_.empty({0}, at::kFloat);
    if (scales) lambda = row_numbers(), to.lambda = lambda.mutable_data_ptr();
    if (bias_gradient) bias = bias_memory(to);
    run_kernels();
    if (bias_gradient && on_.spec->bias != Bias::Kind::alibi) bias = at::sum_to(bias, on_.problem_term("bias").sizes());
    if (p.sink) {
      sink = on_.empty({p.heads}, on_.real);
      require_launched(cuda::sum_by_head(p, sink_shares_.const_data_ptr(), sink.mutable_data_ptr(), on_.stream));
    }
    return Backward(std::move(query_gradient), std::move(key_gradient), std::move(value_gradient), std::move(bias),
                    std::move(sink), scales ? on_.scale_gradient(lambda) : on_.empty({0}, at::kFloat),
                    on_.empty({0}, at::kFloat));
  }

 private:
  bool is_implicit() const {
    return on_.spec->scale.is_target_entropy() && on_.spec->scale.gradient() == TargetEntropyGradient::implicit;
  }

  at::Tensor row_numbers() {
    return on_.keep(on_.empty({on_.device.batch, on_.device.heads, on_.device.n_q}, on_.real));
  }

  void set_upstream(const at::Tensor& output, const std::optional<at::Tensor>& gradient) {
    if (!gradient || !gradient->defined()) return;
    const at::Tensor given = on_.keep(with_contiguous_rows(gradient->to(output.scalar_type())));
    const at::Tensor found = on_.keep(with_contiguous_rows(output));
    upstream_.output = found.const_data_ptr(), upstream_.output_stride = strides_of(found);
    upstream_.output_gradient = given.const_data_ptr(), upstream_.output_gradient_stride = strides_of(given);
    output_gradient_ = given;
  }

  at::Tensor bias_memory(cuda::Gradients& to) {
    const cuda::Problem& p = on_.device;
    const Bias::Kind kind = on_.spec->bias;
    const at::Tensor out = kind == Bias::Kind::alibi   ? on_.empty({p.heads}, on_.real)
                           : kind == Bias::Kind::dense ? on_.empty({p.batch, p.heads, p.n_q, p.n_k}, on_.real)
                                                       : on_.empty({p.heads, 2 * p.reach + 1}, on_.real);
    (kind == Bias::Kind::alibi   ? to.slopes
     : kind == Bias::Kind::dense ? to.bias
                                 : to.relative) = out.mutable_data_ptr();
    return out;
  }

  // The solved scales move with the scores: one pass computes dlambda only, and the resulting term is added to a1.
  void add_implicit_term() {
    const at::Tensor lambda = row_numbers();
    call_.gradients.lambda = lambda.mutable_data_ptr();
    run_kernels();
    call_.gradients.lambda = nullptr;
    require_launched(cuda::add_implicit_term(on_.device, arrays_, on_.device.scales, lambda.const_data_ptr(),
                                             row_counts_.select(0, 3).const_data_ptr<std::int64_t>(), call_.rows.a1,
                                             on_.stream));
  }

  // On tensor cores if they support the problem; heads of other widths are padded and copied back.
  void run_kernels() {
    cuda::BackwardProblem call = call_;
    if (output_gradient_.defined())
      call.output_gradient = output_gradient_.const_data_ptr(),
      call.output_gradient_stride = strides_of(output_gradient_);
    const std::optional<cuda::Problem> fast = on_.for_tensor_cores();
    if (fast && !call.gradients.bias && !call.gradients.relative && on_.device.value) {
      call.problem = *fast;
      Widened widened(on_, call, output_gradient_);
      if (cuda::has_backward(call)) {
        call.workspace = on_.workspace(cuda::backward_workspace(call));
        require_launched(cuda::backward(call, on_.stream));
        return widened.copy_back();
      }
    }
    call = call_;
    if (output_gradient_.defined())
      call.output_gradient = output_gradient_.const_data_ptr(),
      call.output_gradient_stride = strides_of(output_gradient_);
    call.problem = on_.device;
    call.workspace = on_.workspace(cuda::plain_backward_workspace(call));
    require_launched(cuda::plain_backward(call, on_.stream));
  }

  // Gradients, and the output's upstream gradient, as wide as the padded problem.
  class Widened {
   public:
    Widened(DeviceProblem& on, cuda::BackwardProblem& call, const at::Tensor& output_gradient) {
      const cuda::Problem &p = on.device, &wide = call.problem;
      if (output_gradient.defined() &&
          (p.d_v != wide.d_v ||
           !cuda::rows_begin_at(call.output_gradient, call.output_gradient_stride, p.batch, p.heads, p.n_q, 16))) {
        const at::Tensor padded = on.keep(at::constant_pad_nd(output_gradient, {0, wide.d_v - p.d_v}).contiguous());
        call.output_gradient = padded.const_data_ptr(), call.output_gradient_stride = strides_of(padded);
      }
      const auto widen = [&](void*& data, cuda::Strides& stride, std::int64_t heads, std::int64_t n, std::int64_t width,
                             std::int64_t padded) {
        if (!data || (width == padded && cuda::rows_begin_at(data, stride, p.batch, heads, n, 4))) return;
        const at::Tensor narrow = at::from_blob(
            data, {p.batch, heads, n, width}, {stride.batch, stride.head, stride.row, 1}, [](void*) {},
            on.query.options());
        const at::Tensor temporary = on.keep(on.empty({p.batch, heads, n, padded}, on.query.scalar_type()));
        data = temporary.mutable_data_ptr(), stride = strides_of(temporary);
        pairs_.emplace_back(narrow, temporary);
      };
      widen(call.gradients.query, call.gradients.query_stride, p.heads, p.n_q, p.d, wide.d);
      widen(call.gradients.key, call.gradients.key_stride, p.kv_heads, p.n_k, p.d, wide.d);
      widen(call.gradients.value, call.gradients.value_stride, p.kv_heads, p.n_k, p.d_v, wide.d_v);
    }
    void copy_back() {
      for (auto& [narrow, wide] : pairs_) narrow.copy_(wide.narrow(3, 0, narrow.size(3)));
    }

   private:
    std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
  };

  DeviceProblem& on_;
  cuda::RowArrays arrays_;
  at::Tensor row_counts_, sink_shares_, output_gradient_;
  cuda::RowUpstream upstream_;
  cuda::BackwardProblem call_;
};

}  // namespace

std::optional<Backward> backward_on_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                         const std::optional<at::Tensor>& value, at::TensorList terms,
                                         const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
                                         const at::Tensor&, const std::optional<at::Tensor>& output_gradient,
                                         const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, value, terms);
  const at::Tensor row_numbers = rows.contiguous(), counts = row_counts.contiguous();
  on.take_scales(row_numbers.select(0, kScaleField));
  return BackwardCall(on, output, row_numbers, counts, output_gradient, statistics_gradient)
      .run(query, key, value, bias_gradient);
}

}  // namespace isentropic::pytorch
