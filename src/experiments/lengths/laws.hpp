// The scale laws to compare, each giving a Scale of the library for every length.
//
//   inverse_sqrt_d   1/sqrt d                         frozen           log(2^17)/d
//   log_n            log n/d                          hybrid           1/sqrt d + 0.1 log n/d
//   log_512          log_512(n)/sqrt d                trained_length   max(1, log_512 n)/sqrt d
//   log_n_sqrt_d     log n/sqrt d                     yarn             factor max(1, n/512)
//   sqrt_log_n       sqrt(log n/d)                    llama4           steps of 8192 positions
//   ssmax            s log n, s = 0.5/sqrt d          target_entropy   H = 2 nats, lambda solved per row
//
// SSMax learns s for each head; 0.5/sqrt d is a plausible value for vectors of norm sqrt d.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isentropic/scale.hpp"

namespace isentropic::experiments::lengths {

inline constexpr std::int64_t kTrainedLength = 512;
inline constexpr std::int64_t kFrozenLength = std::int64_t{1} << 17;
inline constexpr double kTargetEntropy = 2.0;

// Whether a law is drawn by default: a picture can show fewer curves than a table.
enum class Prominence : std::uint8_t { drawn, table_only };

struct Law {
  std::string name;   // as above
  std::string label;  // the formula, for tables and pictures
  std::string idea;   // its origin, in one line
  Prominence prominence;
  std::function<Scale(std::int64_t n, std::int64_t d)> scale;

  // Whether lambda is solved for each row rather than determined by n and d.
  bool is_solved() const { return scale(2, 2).is_target_entropy(); }
  // lambda of the last query of n keys; not for solved laws.
  double lambda(std::int64_t n, std::int64_t d) const {
    return scale(n, d).lambda({.visible = n, .d = d, .position = n - 1, .head = 0});
  }
};

const std::vector<Law>& all_laws();
// The laws with these names, in the order of all_laws(); all laws if `names` is empty. Errors list the names.
std::vector<Law> laws_named(const std::vector<std::string>& names);
// kappa log n/d, labelled with its kappa.
Law log_n_law(double kappa);

}  // namespace isentropic::experiments::lengths
