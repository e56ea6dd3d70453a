// The attention call as C functions, for scripts whose tensors live in another library's memory. Each returns the
// seconds spent in the call itself.
#include <chrono>
#include <cstring>

#include "isentropic/attention.hpp"

namespace {

using namespace isentropic;

struct Sizes {
  std::int64_t heads, n, d;
  std::int32_t is_bfloat16, is_causal, with_statistics;
};

AttentionProblem problem_of(const Sizes& sizes, const void* q, const void* k, const void* v) {
  const Shape shape{1, sizes.heads, sizes.n, sizes.d};
  const DType type = sizes.is_bfloat16 ? DType::bfloat16 : DType::float32;
  const auto view = [&](const void* data) { return View(data, type, shape, contiguous_strides(shape)); };
  return {.query = view(q),
          .key = view(k),
          .value = view(v),
          .mask = sizes.is_causal ? Mask::causal() : Mask::none(),
          .statistics = sizes.with_statistics ? Statistics::all() : Statistics::none()};
}

template <class F>
double seconds_of(F work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void copy(const Tensor& tensor, void* out) {
  if (out) std::memcpy(out, tensor.view().data, static_cast<std::size_t>(tensor.size()) * size_of(tensor.type()));
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT double isentropic_forward(const Sizes* sizes, const void* q, const void* k, const void* v, void* output,
                                 void* entropy) {
  AttentionResult result;
  const AttentionProblem problem = problem_of(*sizes, q, k, v);
  const double seconds = seconds_of([&] { result = attention(problem); });
  copy(result.output, output);
  if (sizes->with_statistics) copy(result.statistics.entropy, entropy);
  return seconds;
}

EXPORT double isentropic_backward(const Sizes* sizes, const void* q, const void* k, const void* v, const void* upstream,
                                  void* query_gradient) {
  const AttentionProblem problem = problem_of(*sizes, q, k, v);
  const AttentionResult forward = attention(problem);
  AttentionGradients gradients;
  const View output(upstream, problem.query.type, problem.query.shape, problem.query.stride);
  const double seconds = seconds_of([&] { gradients = attention_backward(problem, forward, {.output = output}); });
  copy(gradients.query, query_gradient);
  return seconds;
}
