// The attention operator on the kernels for NVIDIA GPUs: describes the problem to them, gives them memory and the
// current stream.
//
// They take bfloat16 and float16, heads of 64 or 128 numbers, softmax under causal, window, prefix, key-length and
// document masks, every scale but a target entropy, soft cap, sink and ALiBi, and compute every statistic but argmax
// and those of key groups.
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include <cmath>

#include "attention/cuda/forward.hpp"
#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/dims.hpp"
#include "attention/problem/validate.hpp"
#include "attention/problem/visibility.hpp"
#include "attention/row_scales.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/cuda_kernels.hpp"
#include "pytorch/row_state.hpp"

namespace isentropic::pytorch {
namespace {

// Through PyTorch's C interface, found when the program runs: what is built against a wheel for CPUs serves on GPUs.
cudaStream_t current_stream(std::int64_t device) {
  using Function = std::int32_t(std::int32_t, void**);
  static const auto function = [] {
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return library ? reinterpret_cast<Function*>(dlsym(library, "aoti_torch_get_current_cuda_stream")) : nullptr;
  }();
  void* stream = nullptr;
  TORCH_CHECK(function && function(static_cast<std::int32_t>(device), &stream) == 0,
              "isentropic: PyTorch's CUDA library does not tell the current stream");
  return static_cast<cudaStream_t>(stream);
}

bool is_recent_enough(std::int64_t device) {
  int major = 0;
  const auto error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, static_cast<int>(device));
  return error == cudaSuccess && major >= 8;
}

bool has_kernel(const AttentionProblem& problem, const at::Tensor& query, const at::Tensor& key,
                const std::optional<at::Tensor>& value) {
  const Mask& mask = problem.mask;
  const bool has_documents = !mask.document_offsets.empty() || mask.segment_length > 0;
  const bool plain_mask = !(has_documents && mask.prefix_keys > 0) && !mask.excludes_keys() && !mask.strided_part &&
                          !mask.block_sparse_part && !mask.dense_part.present();
  const bool plain_bias = problem.bias.kind() == Bias::Kind::none || problem.bias.kind() == Bias::Kind::alibi;
  const Shard& shard = problem.shard;
  const bool whole = shard.query_offset == 0 && shard.key_offset == 0 && shard.total_queries < 0 &&
                     shard.total_keys < 0 && !shard.visible.present();
  const at::ScalarType type = query.scalar_type();
  return value && (type == at::kBFloat16 || type == at::kHalf) && key.scalar_type() == type &&
         value->scalar_type() == type && (query.size(3) == 64 || query.size(3) == 128) &&
         value->size(3) == query.size(3) && query.numel() > 0 && key.numel() > 0 &&
         problem.map.kind() == ScoreMap::Kind::softmax && !problem.dropout && !problem.scale.is_target_entropy() &&
         !problem.statistics.wants_groups() && !problem.statistics.has(Statistic::argmax) && plain_mask && plain_bias &&
         whole && is_recent_enough(query.get_device());
}

// Rows at multiples of 16 bytes.
at::Tensor aligned(const at::Tensor& x) {
  const auto is_multiple = [&](int axis) { return x.size(axis) == 1 || x.stride(axis) % 8 == 0; };
  const bool fits = x.stride(3) == 1 && is_multiple(0) && is_multiple(1) && is_multiple(2) &&
                    reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0;
  return fits ? x : x.contiguous();
}

cuda::Strides strides_of(const at::Tensor& x) { return {x.stride(0), x.stride(1), x.stride(2)}; }

// What the kernels read beside the inputs, kept while they are started.
class CudaProblem {
 public:
  CudaProblem(const BoundProblem& bound, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value)
      : bound_(bound), dims_(bound.problem), query_(aligned(query)), key_(aligned(key)), value_(aligned(value)) {
    const at::TensorOptions floats = query.options().dtype(at::kFloat);
    output = at::empty({dims_.batch, dims_.heads, dims_.n_q, dims_.d_v}, query.options());
    records_ = at::empty({5, dims_.batch, dims_.heads, dims_.n_q}, floats);
    problem.type = query.scalar_type() == at::kHalf ? cuda::ElementType::float16 : cuda::ElementType::bfloat16;
    problem.batch = dims_.batch, problem.heads = dims_.heads, problem.kv_heads = dims_.kv_heads;
    problem.n_q = dims_.n_q, problem.n_k = dims_.n_k, problem.d = dims_.d;
    problem.query = query_.const_data_ptr(), problem.query_stride = strides_of(query_);
    problem.key = key_.const_data_ptr(), problem.key_stride = strides_of(key_);
    problem.value = value_.const_data_ptr(), problem.value_stride = strides_of(value_);
    problem.output = output.mutable_data_ptr(), problem.output_stride = strides_of(output);
    problem.soft_cap = static_cast<float>(bound.problem.soft_cap.value_or(0));
    problem.moments = moments_for(available_statistics(bound.problem));
    float** const fields[] = {&problem.m, &problem.z, &problem.u, &problem.w, &problem.c};
    for (int field = 0; field < 5; ++field) *fields[field] = records_[field].mutable_data_ptr<float>();
    set_visible();
    set_scales();
    problem.sink = by_head("sink");
    if (bound.problem.bias.kind() == Bias::Kind::alibi) problem.slopes = by_head("bias");
  }

  cuda::ForwardProblem problem;
  at::Tensor output;

 private:
  template <class T>
  const T* keep(const at::Tensor& tensor) {
    kept_.push_back(tensor.contiguous());
    return kept_.back().const_data_ptr<T>();
  }

  const float* by_head(const char* name) {
    const at::Tensor* found = bound_.find(name);
    if (!found) return nullptr;
    return keep<float>(found->detach().to(query_.device(), at::kFloat).reshape({-1}).expand({dims_.heads}));
  }

  // Rows of one document see a band; where there are more, or key lengths, each row says what it sees.
  void set_visible() {
    const Mask& mask = bound_.problem.mask;
    const Visibility visibility(bound_.problem);
    cuda::VisibleKeys& visible = problem.visible;
    if (mask.is_causal) visible.right = 0;
    if (mask.window_part) {
      visible.left = mask.window_part->left;
      visible.right = std::min(visible.right, mask.window_part->right);
    }
    visible.offset = visibility.place(0, 0).position;
    if (mask.prefix_keys > 0) {
      std::vector<std::int32_t> prefixes;
      for (std::int64_t b = 0; b < dims_.batch; ++b)
        prefixes.push_back(static_cast<std::int32_t>(std::min(mask.prefix_keys, visibility.place(b, 0).document.end)));
      visible.prefix = keep<std::int32_t>(at::tensor(prefixes, at::kInt).to(query_.device()));
    }
    if (mask.lengths.empty() && mask.document_offsets.empty() && mask.segment_length == 0) return;
    std::vector<std::int32_t> spans;
    for (const bool is_end : {false, true})
      for (std::int64_t b = 0; b < dims_.batch; ++b)
        for (std::int64_t i = 0; i < dims_.n_q; ++i) {
          const QueryPlace place = visibility.place(b, i);
          const std::int64_t limit = is_end ? std::min(place.document.end, place.position + visible.right + 1)
                                            : std::max(place.document.begin, place.position - visible.left + 1);
          spans.push_back(static_cast<std::int32_t>(limit));
        }
    const auto* lists = keep<std::int32_t>(at::tensor(spans, at::kInt).to(query_.device()));
    visible.begin = lists, visible.end = lists + dims_.batch * dims_.n_q;
  }

  void set_scales() {
    const Scale& scale = bound_.problem.scale;
    if (scale.name() == "inverse_sqrt_d") {
      problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dims_.d)));
      return;
    }
    if (scale.is_per_row()) {
      const at::Tensor rows = bound_.find("scale")->detach().to(query_.device(), at::kFloat);
      problem.scales = keep<float>(rows.expand({dims_.batch, dims_.heads, dims_.n_q}));
      return;
    }
    const RowScales scales = row_scales(bound_.problem);  // laws are evaluated on the host
    const std::vector<float> rows(scales.lambda.begin(), scales.lambda.end());
    problem.scales = keep<float>(at::tensor(rows, at::kFloat).to(query_.device()));
  }

  const BoundProblem& bound_;
  const Dims dims_;
  const at::Tensor query_, key_, value_;
  at::Tensor records_;
  std::vector<at::Tensor> kept_;
};

void require(cudaError_t error) { TORCH_CHECK(error == cudaSuccess, "isentropic: ", cudaGetErrorString(error)); }

std::optional<Forward> forward(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                               const std::optional<at::Tensor>& value, at::TensorList terms) {
  const at::NoGradGuard no_gradient;
  const BoundProblem bound(text, query, key, value, terms);
  const AttentionProblem& problem = bound.problem;
  validate(problem, value ? ValueUse::required : ValueUse::ignored);
  if (!has_kernel(problem, query, key, value)) return {};
  const c10::DeviceGuard guard(query.device());
  const cudaStream_t stream = current_stream(query.get_device());
  CudaProblem on_device(bound, query, key, *value);
  require(cuda::forward(on_device.problem, stream));

  const StatisticsLayout layout(problem);
  const std::int64_t batch = query.size(0), heads = query.size(1), n_q = query.size(2), count = batch * heads * n_q;
  cuda::StatisticsOutput asked;
  const auto stack = [&](const std::vector<Statistic>& which, at::ScalarType type) {
    at::Tensor out = at::empty({std::ssize(which), batch, heads, n_q}, query.options().dtype(type));
    for (std::size_t s = 0; s < which.size(); ++s) {
      const auto first = static_cast<std::int64_t>(s) * count;
      if (type == at::kLong)
        asked.visible = out.mutable_data_ptr<std::int64_t>() + first;
      else
        asked.real[static_cast<int>(which[s])] = out.mutable_data_ptr<float>() + first;
    }
    return out;
  };
  at::Tensor statistics = stack(layout.differentiable, at::kFloat), measures = stack(layout.measured, at::kFloat),
             counts = stack(layout.counted, at::kLong);
  at::Tensor rows = at::empty({batch, heads, n_q, kRowState}, query.options().dtype(at::kDouble));
  asked.rows = rows.mutable_data_ptr<double>();
  asked.counts = problem.scale.looks_at_n();
  require(cuda::statistics(on_device.problem, asked, stream));
  return Forward(std::move(on_device.output), std::move(statistics), std::move(measures), std::move(counts),
                 std::move(rows), at::empty({0}, query.options().dtype(at::kLong)));
}

constexpr CudaKernels kKernels = {forward};
[[maybe_unused]] const bool announced = (cuda_kernels() = &kKernels, true);

}  // namespace

}  // namespace isentropic::pytorch
