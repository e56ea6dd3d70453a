// The oracle's problems on the device: numbers rounded to a type, memory that is poisoned until it is written, and the
// masks and terms shared by the tests of all kernels.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "attention/cuda/problem.hpp"
#include "reference/problem.hpp"

namespace isentropic::cuda {

using reference::Index;
using reference::Numbers;

inline bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

inline void require(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

// Owns poisoned device memory.
class OnDevice {
 public:
  explicit OnDevice(std::size_t bytes) : bytes_(bytes) {
    require(cudaMalloc(&data_, std::max<std::size_t>(1, bytes)));
    require(cudaMemset(data_, 0xff, bytes));
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

inline std::size_t size_of(ElementType type) {
  return type == ElementType::float64 ? 8 : type == ElementType::float32 ? 4 : type == ElementType::boolean ? 1 : 2;
}
inline ElementType real_type(ElementType type) {
  return type == ElementType::float64 ? ElementType::float64 : ElementType::float32;
}

// Returns f(T()), where T is the host type of the elements.
template <class F>
auto with_host_type(ElementType type, F f) {
  switch (type) {
    case ElementType::bfloat16:
      return f(__nv_bfloat16());
    case ElementType::float16:
      return f(__half());
    case ElementType::float32:
      return f(float());
    case ElementType::boolean:
      return f(bool());
    case ElementType::float64:
      break;
  }
  return f(double());
}

inline double round_to(ElementType type, double x) {
  return with_host_type(type, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, double>)
      return x;
    else
      return static_cast<double>(static_cast<float>(static_cast<T>(static_cast<float>(x))));
  });
}

// Owns all of a test's device memory.
class DeviceMemory {
 public:
  void* poisoned(std::size_t bytes) {
    blocks_.push_back(std::make_unique<OnDevice>(bytes));
    return blocks_.back()->get();
  }
  void* numbers(ElementType type, const Numbers& values) {
    return with_host_type(type, [&](auto t) -> void* {
      using T = decltype(t);
      std::unique_ptr<T[]> host(new T[values.size() + 1]);
      for (std::size_t i = 0; i < values.size(); ++i)
        if constexpr (std::is_same_v<T, double>)
          host[i] = values[i];
        else
          host[i] = static_cast<T>(static_cast<float>(values[i]));
      return copy(host.get(), values.size() * sizeof(T));
    });
  }
  template <class T>
  T* list(const std::vector<T>& values) {
    return static_cast<T*>(copy(values.data(), values.size() * sizeof(T)));
  }
  void* copy(const void* host, std::size_t bytes) {
    void* data = poisoned(bytes);
    require(cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice));
    return data;
  }

 private:
  std::vector<std::unique_ptr<OnDevice>> blocks_;
};

template <class T>
std::vector<T> read_list(const void* data, std::size_t count) {
  std::vector<T> host(count);
  require(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

inline Numbers read_numbers(ElementType type, const void* data, std::size_t count) {
  return with_host_type(type, [&](auto t) {
    using T = decltype(t);
    std::unique_ptr<T[]> host(new T[count + 1]);
    require(cudaMemcpy(host.get(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    Numbers out(count);
    for (std::size_t i = 0; i < count; ++i)
      if constexpr (std::is_same_v<T, double>)
        out[i] = host[i];
      else
        out[i] = static_cast<double>(static_cast<float>(host[i]));
    return out;
  });
}

// ||x - expected|| / ||expected||; a mismatch of NaN or Inf is infinite.
inline double relative_error(const Numbers& found, const Numbers& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!std::isfinite(found[i]) || !std::isfinite(expected[i])) {
      const bool same = std::isnan(expected[i]) ? std::isnan(found[i]) : found[i] == expected[i];
      if (!same) return INFINITY;
      continue;
    }
    error += (found[i] - expected[i]) * (found[i] - expected[i]), size += expected[i] * expected[i];
  }
  return std::sqrt(error) / (std::sqrt(size) + 1e-30);
}

struct Sizes {
  Index batch = 1, heads = 2, kv_heads = 2, n_q = 200, n_k = 200, d = 64, d_v = 0;  // d_v 0: d
};

// A case changes the inputs of both the oracle and the kernels; reals() stores numbers in the accumulation type.
struct DeviceProblem {
  DeviceMemory& memory;
  Problem problem;
  void* reals(const Numbers& values) const { return memory.numbers(real_type(problem.type), values); }
};

struct Case {
  std::string name;
  Sizes sizes = {};
  std::function<void(reference::Problem&, DeviceProblem&)> change = [](auto&, auto&) {};
  double size = 1;  // of queries
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

inline Numbers normal(Index count, double size, ElementType type, std::mt19937& random) {
  std::normal_distribution<double> draw(0, size);
  Numbers out(static_cast<std::size_t>(count));
  for (double& x : out) x = round_to(type, draw(random));
  return out;
}

inline reference::Problem oracle_of(const Case& c, ElementType type) {
  std::mt19937 random(7);
  const Sizes& n = c.sizes;
  reference::Problem out;
  out.batch = n.batch, out.heads = n.heads, out.kv_heads = n.kv_heads;
  out.n_q = n.n_q, out.n_k = n.n_k, out.d = n.d, out.d_v = n.d_v ? n.d_v : n.d;
  out.query = normal(n.batch * n.heads * n.n_q * out.d, c.size, type, random);
  out.key = normal(n.batch * n.kv_heads * n.n_k * out.d, 1, type, random);
  out.value = normal(n.batch * n.kv_heads * n.n_k * out.d_v, 1, type, random);
  return out;
}

// Contiguous copies of the oracle's inputs; lambda is 1 / sqrt d unless a case changes it.
inline Problem on_device(const reference::Problem& oracle, ElementType type, DeviceMemory& memory) {
  Problem p;
  p.type = type;
  p.batch = oracle.batch, p.heads = oracle.heads, p.kv_heads = oracle.kv_heads;
  p.n_q = oracle.n_q, p.n_k = oracle.n_k, p.d = oracle.d, p.d_v = oracle.d_v;
  p.query = memory.numbers(type, oracle.query);
  p.key = memory.numbers(type, oracle.key);
  p.value = memory.numbers(type, oracle.value);
  p.query_stride = {p.heads * p.n_q * p.d, p.n_q * p.d, p.d};
  p.key_stride = {p.kv_heads * p.n_k * p.d, p.n_k * p.d, p.d};
  p.value_stride = {p.kv_heads * p.n_k * p.d_v, p.n_k * p.d_v, p.d_v};
  p.scale = 1 / std::sqrt(static_cast<double>(p.d));
  return p;
}

// Poisoned contiguous arrays for the records and the output.
inline ForwardOutput forward_output(const Problem& p, DeviceMemory& memory) {
  const auto rows = static_cast<std::size_t>(p.rows());
  const auto real = [&] { return memory.poisoned(rows * size_of(real_type(p.type))); };
  ForwardOutput out;
  out.rows = {real(), real(), real(), real(), real(), nullptr, nullptr};
  out.rows.k = static_cast<std::int64_t*>(memory.poisoned(rows * 8));
  out.rows.a = static_cast<std::int64_t*>(memory.poisoned(rows * 8));
  out.output = memory.poisoned(rows * static_cast<std::size_t>(p.d_v) * size_of(p.type));
  out.output_stride = {p.heads * p.n_q * p.d_v, p.n_q * p.d_v, p.d_v};
  return out;
}

// Masks, scales and terms that the fast kernels support.
std::vector<Case> span_cases();

inline std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

}  // namespace isentropic::cuda
