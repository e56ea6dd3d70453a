// The five products of the backward pass, each over blocks in shared memory, and the part of each that a warp holds.
#pragma once

#include "attention/cuda/backward_shape.cuh"
#include "attention/cuda/backward_tiles.cuh"

namespace isentropic::cuda {

template <class Shape>
struct BackwardProducts {
  using E = typename Shape::E;
  static constexpr int kD = Shape::kD, kQueries = Shape::kQueries, kKeys = Shape::kKeys;
  using Scores = QueryTiles<kQueries, kKeys>;
  using Products = QueryTiles<kQueries, kD>;
  using ScoreTile = float[2][Scores::kColumnTiles][4];
  // Gradients of keys and values: a warp holds a quarter of the keys and half of the width.
  static constexpr int kOwnKeys = kKeys / 4, kKeyTiles = kOwnKeys / 16;
  template <int kWidth>
  using KeySums = float[kKeyTiles][kWidth / 16][4];

  // sums = rows columns^T, for a block of queries and a block of keys.
  template <int kWidth>
  __device__ static void multiply(ScoreTile& sums, std::uint32_t rows, std::uint32_t columns) {
    const std::uint32_t row = rows + chunk_offset<kWidth>(Scores::first_row() + lane() % 16, lane() / 16);
    const std::uint32_t column =
        columns + chunk_offset<kWidth>(Scores::first_column() + lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
    clear(sums);
    multiply_tiles<E, kWidth / 16>(
        sums,
        [&](std::uint32_t(&to)[4], int step, int t) {
          load_fragments(to, chunks_on<kWidth>(row, step) + t * 16 * kWidth * 2);
        },
        [&](std::uint32_t(&to)[4], int step, int pair) {
          load_fragments(to, chunks_on<kWidth>(column, step) + pair * 16 * kWidth * 2);
        });
  }

  // sums = gradients keys, for dx and the block's keys.
  __device__ static void multiply_gradients(float (&sums)[2][Products::kColumnTiles][4], std::uint32_t gradients,
                                            std::uint32_t keys) {
    const std::uint32_t row = gradients + chunk_offset<kKeys>(Products::first_row() + lane() % 16, lane() / 16);
    const std::uint32_t column = (keys + chunk_offset<kD>(lane() % 16, lane() / 16)) ^
                                 (Shape::kWide ? warp() % 4 * 32 : Products::first_column() * 2);
    clear(sums);
    multiply_tiles<E, kKeys / 16>(
        sums,
        [&](std::uint32_t(&to)[4], int step, int t) { load_fragments(to, (row ^ (step * 32)) + t * 16 * kKeys * 2); },
        [&](std::uint32_t(&to)[4], int step, int pair) {
          const std::uint32_t place = Shape::kWide ? column + pair * 128 : column ^ (pair * 32);
          load_fragments_transposed(to, place + step * 16 * kD * 2);
        });
  }

  // The first column this lane holds of a tile of sums over rows.
  template <int kWidth>
  __device__ static int own_column(int tile) {
    if constexpr (Shape::kWide) return tile / 4 * 64 + warp() / 4 * 32 + tile % 4 * 8 + lane() % 4 * 2;
    return warp() / 4 * (kWidth / 2) + tile * 8 + lane() % 4 * 2;
  }

  // sums += left^T right, for P or dx and a block of queries; change(fragments, step) may scale the left side.
  template <int kWidth, class Change>
  __device__ static void multiply_transposed(KeySums<kWidth>& sums, std::uint32_t left, std::uint32_t right,
                                             Change change) {
    const std::uint32_t key =
        (left + chunk_offset<kKeys>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2)) ^ (warp() % 4 * kOwnKeys * 2);
    const std::uint32_t column =
        (right + chunk_offset<kWidth>(lane() % 16, lane() / 16)) ^ (warp() / 4 * (Shape::kWide ? 64 : kWidth));
    multiply_tiles<E, kQueries / 16>(
        sums,
        [&](std::uint32_t(&to)[4], int step, int t) {
          load_fragments_transposed(to, (key ^ (t * 32)) + step * 16 * kKeys * 2);
          change(to, step);
        },
        [&](std::uint32_t(&to)[4], int step, int pair) {
          const std::uint32_t place = Shape::kWide ? (column ^ (pair % 2 * 32)) + pair / 2 * 128 : column ^ (pair * 32);
          load_fragments_transposed(to, place + step * 16 * kWidth * 2);
        });
  }

 private:
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int warp() { return threadIdx.x / 32; }
};

}  // namespace isentropic::cuda
