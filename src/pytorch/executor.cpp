// PyTorch's threads as an executor.
#include "pytorch/executor.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

// at::parallel_for is a header with OpenMP pragmas: compiled without OpenMP it would silently run on one thread.
#if AT_PARALLEL_OPENMP && !defined(_OPENMP)
#error "compile this file with -fopenmp, as PyTorch was; its library is the one that PyTorch brings along"
#endif

namespace isentropic::pytorch {

int TorchThreads::threads() const { return at::in_parallel_region() ? 1 : at::get_num_threads(); }

// at::parallel_for splits a range into equal parts, but tasks differ in cost: here every thread takes the next task.
void TorchThreads::parallel_for(std::int64_t count, const Work& work) {
  const std::int64_t workers = std::min<std::int64_t>(threads(), count);
  if (workers <= 1) return serial_executor().parallel_for(count, work);
  std::atomic<std::int64_t> next{0};
  at::parallel_for(0, workers, 1, [&](std::int64_t, std::int64_t) {
    for (std::int64_t task = next++; task < count; task = next++) work(task, task + 1);
  });
}

}  // namespace isentropic::pytorch
