// bfloat16, for the emulator.
#pragma once

#include "cuda/emulator/cuda_runtime_api.h"
#include "cuda/emulator/sixteen_bits.hpp"

using __nv_bfloat16 = emulator::Float16<8, 7>;
using __nv_bfloat162 = emulator::Pair<__nv_bfloat16>;

inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x * b.x, a.y * b.y}; }
