// float16, for the emulator.
#pragma once

#include "cuda/emulator/cuda_runtime_api.h"
#include "cuda/emulator/sixteen_bits.hpp"

using __half = emulator::Float16<5, 10>;
using __half2 = emulator::Pair<__half>;

inline float __half2float(__half x) { return x; }
inline __half __float2half(float x) { return x; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
