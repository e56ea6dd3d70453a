// The attention operators on the kernels for NVIDIA GPUs: memory for what they write, and which of them run.
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <utility>

#include "attention/cuda/key_groups.hpp"
#include "attention/cuda/key_mass.hpp"
#include "attention/cuda/plain.hpp"
#include "attention/cuda/tensor_cores.hpp"
#include "attention/problem/validate.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/cuda/device_problem.hpp"
#include "pytorch/cuda/stream.hpp"
#include "pytorch/cuda_kernels.hpp"
#include "pytorch/row_state.hpp"

namespace isentropic::pytorch {
namespace {

bool is_recent_enough(std::int64_t device) {
  int major = 0;
  const auto error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, static_cast<int>(device));
  return error == cudaSuccess && major >= 8;
}

// Softmax alone has kernels; the other maps are computed on the CPU.
bool has_kernels(c10::string_view text, const at::Tensor& query) {
  return cached_spec(text)->map.kind() == ScoreMap::Kind::softmax && query.dim() == 4 &&
         is_recent_enough(query.get_device());
}

// Where an entry of the first axis of a contiguous tensor begins: as select() has it, without making a tensor.
void* entry(const at::Tensor& stacked, std::int64_t index) {
  return static_cast<char*>(stacked.mutable_data_ptr()) +
         index * (stacked.numel() / stacked.size(0)) * stacked.element_size();
}

std::int64_t* count_entry(const at::Tensor& row_counts, std::int64_t index) {
  return static_cast<std::int64_t*>(entry(row_counts, index));
}

// The fields of row_state.hpp as the kernels name them.
cuda::RowArrays arrays_of(const at::Tensor& rows, const at::Tensor& row_counts) {
  cuda::RowArrays out;
  void** const fields[] = {&out.m, &out.z, &out.u, &out.w, &out.c};
  for (std::int64_t field = 0; field + kMaximumField < rows.size(0); ++field)
    *fields[field] = entry(rows, field + kMaximumField);
  out.k = count_entry(row_counts, 0), out.a = count_entry(row_counts, 1);
  return out;
}

struct StackedStatistics {
  at::Tensor differentiable, measured, counted;
  cuda::StatisticsOutput places;
  cuda::KeyGroupArrays groups;

  StackedStatistics(DeviceProblem& on, const StatisticsLayout& layout) {
    const auto stack = [&](const std::vector<Statistic>& which, at::ScalarType type) {
      const cuda::Problem& p = on.device;
      at::Tensor out = on.empty({std::ssize(which), p.batch, p.heads, p.n_q}, type);
      for (std::size_t s = 0; s < which.size(); ++s) {
        void* const column = entry(out, static_cast<std::int64_t>(s));
        if (type != at::kLong)
          places.real[static_cast<int>(which[s])] = column;
        else
          (which[s] == Statistic::visible ? places.visible : places.argmax) = static_cast<std::int64_t*>(column);
      }
      return out;
    };
    differentiable = stack(layout.differentiable, on.real);
    measured = stack(layout.measured, on.real);
    counted = stack(layout.counted, at::kLong);
    const auto of = [&](Statistic statistic) { return places.real[static_cast<int>(statistic)]; };
    groups = {on.problem.statistics.first_keys(), on.problem.statistics.recent_keys(),
              on.positions_in_document,           of(Statistic::first_mass),
              of(Statistic::recent_mass),         of(Statistic::entropy_without_first),
              of(Statistic::mean_distance)};
  }
};

// Dropout leaves the statistics as they are.
cudaError_t run_key_groups(DeviceProblem& on, const cuda::KeyGroupArrays& groups) {
  const double dropout = std::exchange(on.device.dropout, 0.0);
  const std::optional<cuda::Problem> fast = on.for_tensor_cores();
  const bool is_fast = fast && cuda::has_key_groups(*fast);
  const auto pass = is_fast ? cuda::key_groups : cuda::plain_key_groups;
  const cudaError_t error = pass(is_fast ? *fast : on.device, groups, on.stream);
  on.device.dropout = dropout;
  return error;
}

std::optional<Forward> forward(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                               const std::optional<at::Tensor>& value, at::TensorList terms) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, value, terms);
  const cuda::Problem& p = on.device;
  at::Tensor rows = on.empty({row_fields(on.problem), p.batch, p.heads, p.n_q}, on.real);
  at::Tensor row_counts = on.empty({kCounts, p.batch, p.heads, p.n_q}, at::kLong);
  const at::Tensor lambda = rows.select(0, kScaleField);
  on.find_scales(lambda, count_entry(row_counts, 3));

  const StatisticsLayout layout(on.problem);
  StackedStatistics statistics(on, layout);
  cuda::RowArrays arrays = arrays_of(rows, row_counts);
  cuda::ForwardOutput out;
  out.rows = arrays;
  // Spans say how many keys a row sees, and the place of the maximum takes a kernel that looks for it.
  const bool counts_keys = p.tests.any() || p.bias.data;
  if (!counts_keys) out.rows.k = nullptr;
  if (!on.problem.statistics.has(Statistic::argmax)) out.rows.a = nullptr;
  at::Tensor output = value ? empty_in_order_of(query, {p.batch, p.heads, p.n_q, p.d_v}, query.options())
                            : at::empty({0}, query.options());
  if (value) out.output = output.mutable_data_ptr(), out.output_stride = strides_of(output);
  require_launched(run_forward(on, out));

  arrays.k = out.rows.k, arrays.a = out.rows.a;
  if (!arrays.k) statistics.places.k = count_entry(row_counts, 0);
  if (!arrays.a) statistics.places.a = count_entry(row_counts, 1);
  statistics.places.n = count_entry(row_counts, 2);
  if (!on.spec->scale.is_target_entropy()) statistics.places.status = count_entry(row_counts, 3);
  statistics.places.counts_n = on.spec->scale.looks_at_n();
  if (on.has_one_scale()) statistics.places.lambda = lambda.mutable_data_ptr();
  require_launched(cuda::statistics(p, arrays, statistics.places, on.stream));
  if (on.problem.statistics.wants_groups()) require_launched(run_key_groups(on, statistics.groups));
  return Forward(std::move(output), std::move(statistics.differentiable), std::move(statistics.measured),
                 std::move(statistics.counted), std::move(rows), std::move(row_counts),
                 at::empty({0}, query.options().dtype(at::kLong)));
}

// ---- Backward ----

// Which constants the upstream gradients of statistics call for.
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
                    std::move(sink), scales ? on_.scale_gradient(lambda) : on_.empty({0}, at::kFloat));
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

  // The solved scales move with the scores: a pass finds dlambda alone, and what follows from it joins the constants.
  void add_implicit_term() {
    const at::Tensor lambda = row_numbers();
    call_.gradients.lambda = lambda.mutable_data_ptr();
    run_kernels();
    call_.gradients.lambda = nullptr;
    require_launched(cuda::add_implicit_term(on_.device, arrays_, on_.device.scales, lambda.const_data_ptr(),
                                             row_counts_.select(0, 3).const_data_ptr<std::int64_t>(), call_.rows.a1,
                                             on_.stream));
  }

  // On tensor cores where they take it; heads of another width are padded there and back.
  void run_kernels() {
    cuda::BackwardProblem call = call_;
    if (output_gradient_.defined())
      call.output_gradient = output_gradient_.const_data_ptr(),
      call.output_gradient_stride = strides_of(output_gradient_);
    std::optional<cuda::Problem> fast = on_.for_tensor_cores();
    const cuda::Problem& p = on_.device;
    const bool is_short = p.type == cuda::ElementType::bfloat16 || p.type == cuda::ElementType::float16;
    if (!fast && is_short && p.n_k > 0) fast = p;  // wide heads and dense terms are taken as they are
    if (fast && !call.gradients.bias && !call.gradients.relative && p.value) {
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

  // Gradients as wide as the padded problem, and the output's gradient likewise.
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

std::optional<Backward> backward(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                 const std::optional<at::Tensor>& value, at::TensorList terms, const at::Tensor& output,
                                 const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor&,
                                 const std::optional<at::Tensor>& output_gradient,
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

// ---- Second looks ----

std::optional<at::Tensor> key_mass(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                   at::TensorList terms, const at::Tensor& rows, const at::Tensor& row_counts,
                                   const at::Tensor&) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, std::nullopt, terms);
  const at::Tensor row_numbers = rows.contiguous(), counts = row_counts.contiguous();
  on.take_scales(row_numbers.select(0, kScaleField));
  on.device.dropout = 0;  // weights are those before it
  at::Tensor out = on.empty({on.device.batch, on.device.heads, on.device.n_k}, on.real);
  const std::optional<cuda::Problem> fast = on.for_tensor_cores();
  const bool is_fast = fast && cuda::has_key_mass(*fast);
  const auto pass = is_fast ? cuda::key_mass : cuda::plain_key_mass;
  require_launched(
      pass(is_fast ? *fast : on.device, arrays_of(row_numbers, counts), out.mutable_data_ptr(), on.stream));
  return out;
}

// Whether rows can be looked at without the others: nothing is read by a row's number in the whole problem.
bool can_gather_rows(const cuda::Problem& p) {
  return !p.tests.layout && !p.tests.mask.data && !p.tests.excluded && !p.bias.data;
}

// Spans of rows, and their positions, as the mask says without any: [rows, 4 + 1].
at::Tensor spans_of_rows(const cuda::Problem& p, const std::vector<std::int64_t>& rows) {
  const cuda::VisibleKeys& visible = p.visible;
  std::vector<std::int64_t> numbers;
  for (const std::int64_t row : rows) {
    const std::int64_t position = row + visible.offset, prefix = std::min(visible.prefix, p.n_k);
    const std::int64_t begin = std::clamp(position - visible.left + 1, prefix, p.n_k);
    const std::int64_t end = std::clamp(position + visible.right + 1, begin, p.n_k);
    numbers.insert(numbers.end(), {0, prefix, begin, end, position});
  }
  return at::tensor(numbers, at::kLong).view({-1, 5});
}

// Leaves only the rows of a list, which rises. Scales have been found.
void gather_rows(DeviceProblem& on, const std::vector<std::int64_t>& rows) {
  cuda::Problem& p = on.device;
  const at::Tensor list = at::tensor(rows, at::kLong).to(on.query.device(), /*non_blocking=*/true);
  const auto view = [&](const void* data, at::IntArrayRef sizes, at::ScalarType type) {
    return at::from_blob(const_cast<void*>(data), sizes, on.query.options().dtype(type));
  };
  at::Tensor spans, positions;
  if (p.visible.spans) {
    spans = view(p.visible.spans, {p.batch, p.n_q, 4}, at::kInt).index_select(1, list);
    positions = view(p.visible.positions, {p.batch, p.n_q}, at::kInt).index_select(1, list);
  } else {
    const at::Tensor both = spans_of_rows(p, rows).to(on.query.device(), /*non_blocking=*/true).to(at::kInt);
    spans = both.narrow(1, 0, 4).expand({p.batch, -1, -1}).contiguous();
    positions = both.select(1, 4).expand({p.batch, -1}).contiguous();
  }
  p.visible.spans = reinterpret_cast<const cuda::RowSpans*>(on.keep(spans).const_data_ptr<std::int32_t>());
  p.visible.positions = on.keep(positions).const_data_ptr<std::int32_t>();
  if (p.scales)
    p.scales = on.keep(view(p.scales, {p.batch, p.heads, p.n_q}, on.real).index_select(2, list)).const_data_ptr();
  on.query = on.query.index_select(2, list);
  p.query = on.query.const_data_ptr(), p.query_stride = strides_of(on.query);
  p.n_q = std::ssize(rows);
}

std::optional<at::Tensor> weights(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                  at::TensorList terms, at::IntArrayRef which) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, std::nullopt, terms);
  const cuda::Problem& p = on.device;
  for (const std::int64_t row : which)
    if (row < 0 || row >= p.n_q)
      throw Error("row", std::to_string(row), "from 0 to n_q - 1 = " + std::to_string(p.n_q - 1));
  at::Tensor out = on.empty({p.batch, p.heads, std::ssize(which), p.n_k}, on.real);
  if (out.numel() == 0) return out;
  const at::Tensor lambda = on.empty({p.batch, p.heads, p.n_q}, on.real);
  const at::Tensor status = on.empty({p.batch, p.heads, p.n_q}, at::kLong);
  on.find_scales(lambda, status.mutable_data_ptr<std::int64_t>());
  std::vector<std::int64_t> wanted = which.vec();
  if (can_gather_rows(p)) {
    std::vector<std::int64_t> rows = wanted;
    std::ranges::sort(rows);
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    gather_rows(on, rows);
    for (std::int64_t& row : wanted) row = std::ranges::lower_bound(rows, row) - rows.begin();
  }
  on.device.dropout = 0;  // weights are those before it
  on.device.moments = MomentSet::partition;
  const at::Tensor sums = on.empty({2, p.batch, p.heads, p.n_q}, on.real);
  cuda::ForwardOutput records;
  records.rows.m = sums[0].mutable_data_ptr(), records.rows.z = sums[1].mutable_data_ptr();
  require_launched(run_forward(on, records));
  const at::Tensor list = on.keep(at::tensor(wanted, at::kLong).to(query.device(), /*non_blocking=*/true));
  require_launched(cuda::plain_weights(p, records.rows, list.const_data_ptr<std::int64_t>(), std::ssize(wanted),
                                       out.mutable_data_ptr(), on.stream));
  return out;
}

constexpr CudaKernels kKernels = {forward, backward, key_mass, weights};
[[maybe_unused]] const bool announced = (cuda_kernels() = &kKernels, true);

}  // namespace
}  // namespace isentropic::pytorch
