// What happens to a score between the product and the mask.
//
//   x = lambda q.k;   s = cap tanh(x / cap) if there is a soft cap, else x;   then the bias is added.
//
//   Bias::dense       a tensor [batch or 1, heads or 1, n_q or 1, n_k or 1]; -inf and the type's lowest value mean
//                     masked
//   Bias::alibi       -slope_head |p_i - j|
//   Bias::relative    table[head, clamp(p_i - j, -r, r) + r], table [heads or 1, 2 r + 1]
//
// A sink logit sigma_head enters only the normaliser: it takes probability but has no value (softmax and gumbel maps).
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"
#include "isentropic/scale.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

class ISENTROPIC_API Bias {
 public:
  enum class Kind : std::uint8_t { none, dense, alibi, relative };

  Bias() = default;
  static Bias dense(View values);
  static Bias alibi(PerHead slopes);
  static Bias relative(View table);

  Kind kind() const { return kind_; }
  const View& values() const { return values_; }  // dense values or relative table
  const PerHead& slopes() const { return slopes_; }

 private:
  Kind kind_ = Kind::none;
  View values_;
  PerHead slopes_ = 0.0;
};

}  // namespace isentropic
