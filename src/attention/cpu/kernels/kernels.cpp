// The list of instruction sets, plain C++ last, and the selection of the active one.
#include "attention/cpu/kernels/kernels.hpp"

#include <cstdlib>

#include "attention/cpu/kernels/few_rows.hpp"
#include "attention/cpu/kernels/gradient_row.hpp"
#include "attention/cpu/kernels/kernels_bf16.hpp"
#include "attention/cpu/kernels/kernels_highway.hpp"
#include "attention/cpu/kernels/products.hpp"
#include "attention/cpu/kernels/soft_cap.hpp"
#include "attention/cpu/kernels/softmax_row.hpp"
#include "attention/cpu/kernels/weights_row.hpp"
#include "isentropic/instruction_sets.hpp"

namespace isentropic {
namespace {

double portable_fma_burst(std::int64_t rounds) {
  using Vector = detail::Lanes<float>::Type;
  Vector sums[12];
  for (int chain = 0; chain < 12; ++chain) sums[chain] = Vector{} + static_cast<float>(chain);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (Vector& sum : sums) sum = sum * 0.999f + 0.001f;
  volatile float kept = 0;
  for (const Vector& sum : sums) kept = kept + sum[0];
  return 2.0 * 12 * detail::Lanes<float>::kCount * static_cast<double>(rounds);
}

constexpr Kernels kPortable = {
    "portable",
    [] { return true; },
    [](Product<float> x, Store store) {
      return store == Store::accumulate ? portable_product<Store::accumulate>(x)
                                        : portable_product<Store::overwrite>(x);
    },
    [](const FewRowsProduct<float>& x) { portable_dots(x); },
    [](const FewRowsProduct<float>& x) { portable_weigh(x); },
    [](float* s, float* derivative, std::int64_t n, float bound) { portable_soft_cap(s, derivative, n, bound); },
    [](const float* s, std::int64_t n) { return portable_row_maximum(s, n); },
    [](const float* s, std::int64_t n, float factor, float value) { return portable_find_scaled(s, n, factor, value); },
    [](MomentSet set, float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums, bfloat16*) {
      with_moments(set, [&]<MomentSet kSet>() { portable_exponentiate<kSet>(s, n, factor, m, sums); });
    },
    [](MomentSet set, float* s, std::int64_t n, float factor, float m, MomentLanes<float>& sums) {
      return with_moments(set,
                          [&]<MomentSet kSet>() { return portable_exponentiate_located<kSet>(s, n, factor, m, sums); });
    },
    [](const MomentLanes<float>& lanes) { return portable_sum(lanes); },
    portable_fma_burst,
    [](const RowConstants& row, std::int64_t n, float* s, float* dp) { portable_gradient_row(row, n, s, dp); },
    [](const float* s, std::int64_t n, float m, float log_partition, float* mass) {
      portable_add_weights(s, n, m, log_partition, mass);
    },
};

const Kernels& kernels_named(const std::string& name) {
  std::string known;
  for (const Kernels* kernels : kernel_list()) {
    if (name == kernels->name) {
      if (!kernels->supported()) throw Error("instruction set", "'" + name + "'", "one that this CPU can run");
      return *kernels;
    }
    known += (known.empty() ? "" : ", ") + std::string(kernels->name);
  }
  throw Error("instruction set", "'" + name + "'", "one of " + known);
}

const Kernels& chosen_kernels() {
  if (const char* forced = std::getenv("ISENTROPIC_ISA"); forced && *forced) return kernels_named(forced);
  for (const Kernels* kernels : kernel_list())
    if (kernels->supported()) return *kernels;
  return kPortable;
}

}  // namespace

const std::vector<const Kernels*>& kernel_list() {
  static const std::vector<const Kernels*> list = [] {
    std::vector<const Kernels*> out = highway_kernels();
    if (!out.empty()) {
      const std::vector<const Kernels*> bf16 = bf16_kernels(*out.front());
      out.insert(out.begin(), bf16.begin(), bf16.end());
    }
    out.push_back(&kPortable);
    return out;
  }();
  return list;
}

const Kernels& active_kernels() {
  static const Kernels& active = chosen_kernels();
  return active;
}

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> out;
  for (const Kernels* kernels : kernel_list())
    out.push_back({kernels->name, kernels->supported(), kernels == &active_kernels()});
  return out;
}

double fma_burst(std::int64_t rounds) { return active_kernels().fma_burst(rounds); }

}  // namespace isentropic
