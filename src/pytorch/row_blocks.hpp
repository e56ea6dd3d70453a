// Processes rows a block at a time, so that their intermediate results are never all in memory.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

namespace isentropic::pytorch {

// Numbers held at a time; a GPU needs more to be busy.
inline std::int64_t numbers_held(const at::Tensor& like) { return std::int64_t{1} << (like.is_cuda() ? 25 : 22); }

// Calls work(begin, end) for blocks of `rows` rows of `numbers` numbers each, as many as `held` allows, at least one.
template <class Work>
void for_each_block(std::int64_t rows, std::int64_t numbers, std::int64_t held, Work work) {
  const std::int64_t step = std::max<std::int64_t>(1, held / std::max<std::int64_t>(1, numbers));
  for (std::int64_t begin = 0; begin < rows; begin += step) work(begin, std::min(begin + step, rows));
}

}  // namespace isentropic::pytorch
