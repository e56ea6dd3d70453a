// The statistics of attention rows: their names, which ones to compute, and where they are returned.
//
//   log_partition   L = m + log z (with a sink: of keys and sink together)
//   entropy         H = log z - u/z            effective_keys      e^H
//   mean_score      E = m + u/z                normalised_entropy  H / log k (0 when k = 1)
//   score_variance  V = w/z - (u/z)^2          max_score           m
//   peak            max p = 1/z                collision           sum p^2 = c/z^2
//   sparsity        S = z / sqrt(k c)          participation       1 / sum p^2 = k S^2
//   visible         k, keys the mask lets the row see (an integer)
//   argmax          index of the largest score; ties: the lowest; -1 when there is none (an integer)
//   sink_mass       e^{sigma - L}, the probability of the sink
//
// and over key groups (the first g keys of the row's document, the last w of the others up to the query, the rest):
//
//   first_mass, recent_mass    probability of the group
//   entropy_without_first      H of the distribution conditioned on avoiding the first g keys
//   mean_distance              E_p[position of the query - position of the key]
//
// All but L and sink_mass describe the distribution over keys given that the sink was not chosen.
// A row without visible keys: L = max_score = -inf, argmax = -1, all others 0; with a sink L = sigma, sink_mass = 1.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/tensor.hpp"

// The single list of names, expanded wherever they are needed.
#define ISENTROPIC_FOR_EACH_STATISTIC(X) \
  X(log_partition)                       \
  X(entropy)                             \
  X(mean_score)                          \
  X(score_variance)                      \
  X(max_score)                           \
  X(normalised_entropy)                  \
  X(peak)                                \
  X(collision)                           \
  X(sparsity)                            \
  X(participation)                       \
  X(effective_keys)                      \
  X(visible)                             \
  X(argmax)                              \
  X(sink_mass)                           \
  X(first_mass)                          \
  X(recent_mass)                         \
  X(entropy_without_first)               \
  X(mean_distance)

namespace isentropic {

enum class Statistic : std::uint8_t {
#define ISENTROPIC_ENUMERATE(name) name,
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_ENUMERATE)
#undef ISENTROPIC_ENUMERATE
};

ISENTROPIC_API const char* name(Statistic statistic);
ISENTROPIC_API Statistic statistic_named(const std::string& name);  // Error lists the names
ISENTROPIC_API const std::vector<std::string>& statistic_names();
ISENTROPIC_API std::vector<std::string> group_statistic_names();  // those over key groups

// Which statistics to compute.
class ISENTROPIC_API Statistics {
 public:
  static Statistics none() { return {}; }
  // Every statistic the score map defines; those over key groups only after groups().
  static Statistics all();
  static Statistics of(std::initializer_list<Statistic> list);

  Statistics with(Statistic statistic) const;
  // Also the key-group statistics, for the first `first` and the last `recent` keys.
  Statistics groups(std::int64_t first, std::int64_t recent) const;

  bool has(Statistic statistic) const { return (bits_ >> static_cast<int>(statistic)) & 1u; }
  bool empty() const { return bits_ == 0; }
  bool wants_groups() const;
  std::int64_t first_keys() const { return first_; }
  std::int64_t recent_keys() const { return recent_; }

  // True for all(): "whatever is defined" rather than "exactly these".
  bool lenient() const { return lenient_; }
  Statistics intersect(std::uint32_t bits) const;
  std::uint32_t bits() const { return bits_; }

 private:
  std::uint32_t bits_ = 0;
  std::int64_t first_ = 1;
  std::int64_t recent_ = 64;
  bool lenient_ = false;
};

// The computed statistics, each [batch, heads, n_q]; absent when not requested.
// Type float32 (float64 for float64 inputs); visible and argmax are int64.
struct ISENTROPIC_API RowStatistics {
#define ISENTROPIC_FIELD(name) Tensor name;
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_FIELD)
#undef ISENTROPIC_FIELD

  Tensor& operator[](Statistic statistic);
  const Tensor& operator[](Statistic statistic) const;
};

}  // namespace isentropic
