// Positions of tokens: rotated into the heads, added to the inputs, or added to the scores.
//
//   rotary        pairs (x_t, x_{t + r/2}) of the first r features of a head are rotated by the angle p w_t
//   sinusoidal    sin(p w_t) and cos(p w_t) are added to the inputs
//   alibi         -slope_head |p - j| is added to a score; 8 heads have the slopes 1/2, 1/4, ... 1/256
//   relative      a learnt number for each distance p - j is added to a score
//
// p is the position and w_t = base^(-t / pairs) unless a model scales it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

enum class Positions : std::uint8_t { none, rotary, sinusoidal, alibi, relative };

// w_t, [pairs], float64, because distant positions make many turns.
ISENTROPIC_API at::Tensor frequencies(std::int64_t pairs, double base);

// Cosines and sines of p w_t, each repeated for both features of its pair: [..., n, 2 pairs].
struct Rotation {
  at::Tensor cosine, sine;
};

// positions [..., n]; frequencies [pairs], in whose type the angles are computed; the results are in `type`.
ISENTROPIC_API Rotation rotation(const at::Tensor& positions, const at::Tensor& frequencies, at::ScalarType type,
                                 double amplitude = 1);

// x [batch, heads, n, d] with its first r = 2 pairs features rotated, in the type of x.
ISENTROPIC_API at::Tensor rotate(const at::Tensor& x, const Rotation& rotation);

// sines_first: all sines, then all cosines.  alternating: sine and cosine of a frequency side by side.
enum class SinusoidOrder : std::uint8_t { sines_first, alternating };

// positions [..., n] and frequencies [(width + 1) / 2] to [..., n, width], in the type of the frequencies.
ISENTROPIC_API at::Tensor sinusoids(const at::Tensor& positions, const at::Tensor& frequencies, std::int64_t width,
                                    SinusoidOrder order);

// [heads]: 2^(-8 h / heads) for a power of two; otherwise the slopes of the largest power of two p below heads,
// followed by every other slope for 2 p heads.
ISENTROPIC_API at::Tensor alibi_slopes(std::int64_t heads);

}  // namespace isentropic::pytorch
