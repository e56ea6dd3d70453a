// The instructions of src/attention/cuda/instructions.cuh in plain C++, for the emulator.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <string>

namespace isentropic::cuda {

inline std::uint32_t shared_address(const void* p) { return emulator::shared_offset(p); }

inline void store_shared(std::uint32_t to, std::uint32_t x) {
  std::memcpy(emulator::at_shared_offset(to, sizeof(x)), &x, sizeof(x));
}
inline std::uint32_t load_shared(std::uint32_t from) {
  std::uint32_t x;
  std::memcpy(&x, emulator::at_shared_offset(from, sizeof(x)), sizeof(x));
  return x;
}

inline void copy_async(std::uint32_t to, const void* from, bool valid) {
  emulator::copy_to_shared_later(to, from, 16, valid);
}
inline void copy_number(std::uint32_t to, const float* from, bool valid) {
  emulator::copy_to_shared_later(to, from, 4, valid);
}
inline void commit_copies() { emulator::commit_shared_copies(); }
template <int kPending>
void wait_for_copies() {
  emulator::finish_shared_copies(kPending);
}

// From matrix m, lane l gets elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4, or of column l / 4.
template <bool kTransposed>
void load_matrices(const char* instruction, std::uint32_t (&out)[4], std::uint32_t row) {
  struct Lane {
    std::uint32_t row;
    std::uint32_t* out;
  } own = {row, out};
  emulator::with_warp(instruction, own, [](auto lane) {
    for (int m = 0; m < 4; ++m) {
      std::uint16_t matrix[8][8];
      for (int r = 0; r < 8; ++r) std::memcpy(matrix[r], emulator::at_shared_offset(lane(m * 8 + r).row, 16), 16);
      for (int l = 0; l < 32; ++l) {
        const int x = l / 4, y = l % 4 * 2;
        lane(l).out[m] = kTransposed ? matrix[y][x] | std::uint32_t{matrix[y + 1][x]} << 16
                                     : matrix[x][y] | std::uint32_t{matrix[x][y + 1]} << 16;
      }
    }
  });
}
inline void load_fragments(std::uint32_t (&out)[4], std::uint32_t row) {
  load_matrices<false>("load_fragments", out, row);
}
inline void load_fragments_transposed(std::uint32_t (&out)[4], std::uint32_t row) {
  load_matrices<true>("load_fragments_transposed", out, row);
}

inline constexpr bool kStoresMatrices = true;
template <int kCount>
void store_matrices(std::uint32_t row, const std::uint32_t (&x)[kCount]) {
  struct Lane {
    std::uint32_t row;
    const std::uint32_t* x;
  } own = {row, x};
  emulator::with_warp("store_matrices", own, [](auto lane) {
    for (int m = 0; m < kCount; ++m)
      for (int l = 0; l < 32; ++l)
        std::memcpy(emulator::at_shared_offset(lane(m * 8 + l / 4).row + l % 4 * 4, 4), &lane(l).x[m], 4);
  });
}

template <class E>
float half_of(std::uint32_t word, int half) {
  const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
  return std::bit_cast<E>(bits);
}

template <class E>
void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  struct Lane {
    float* c;
    const std::uint32_t* a;
    std::uint32_t b[2];
  } own = {c, a, {b0, b1}};
  emulator::with_warp("multiply_add", own, [](auto lane) {
    float left[16][16], right[16][8], sums[16][8];
    for (int l = 0; l < 32; ++l)
      for (int e = 0; e < 2; ++e) {
        const int group = l / 4, pair = l % 4 * 2 + e;
        for (int part = 0; part < 4; ++part)
          left[group + part % 2 * 8][pair + part / 2 * 8] = half_of<E>(lane(l).a[part], e);
        for (int part = 0; part < 2; ++part) right[pair + part * 8][group] = half_of<E>(lane(l).b[part], e);
        for (int half = 0; half < 2; ++half) sums[group + half * 8][pair] = lane(l).c[2 * half + e];
      }
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 16; ++k)
        for (int j = 0; j < 8; ++j) sums[i][j] += left[i][k] * right[k][j];
    for (int l = 0; l < 32; ++l)
      for (int e = 0; e < 4; ++e) lane(l).c[e] = sums[l / 4 + e / 2 * 8][l % 4 * 2 + e % 2];
  });
}

inline float exp2_fast(float x) {
  const float out = exp2f(x);
  return out < 0x1p-126f ? 0.0f : out;
}

inline unsigned glance_at_count(const unsigned* count) { return *count; }
// Blocks run sequentially: a count that has not been reached yet never will be.
inline void wait_for_count(const unsigned* count, unsigned value) {
  if (*count != value)
    emulator::fail("waits for a count of " + std::to_string(value) + " where it is " + std::to_string(*count) +
                   ": for a block that has not begun");
}
inline void raise_count(unsigned* count) { ++*count; }

inline constexpr bool kAddsFour = true;
inline void add_four(float* to, const float (&x)[4]) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0) emulator::fail("add_four begins at a multiple of 16 bytes");
  for (int e = 0; e < 4; ++e) to[e] += x[e];
}

}  // namespace isentropic::cuda
