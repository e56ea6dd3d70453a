// Work on PyTorch's threads: torch.set_num_threads is obeyed, and no second pool of threads exists.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

#include "isentropic/executor.hpp"

namespace isentropic::pytorch {

class TorchThreads final : public Executor {
 public:
  const char* name() const override { return "torch"; }
  int threads() const override { return at::in_parallel_region() ? 1 : at::get_num_threads(); }

  // at::parallel_for cuts a range into equal parts, but tasks differ in cost: every thread takes the next one instead.
  void parallel_for(std::int64_t count, const Work& work) override {
    const std::int64_t workers = std::min<std::int64_t>(threads(), count);
    if (workers <= 1) return serial_executor().parallel_for(count, work);
    std::atomic<std::int64_t> next{0};
    at::parallel_for(0, workers, 1, [&](std::int64_t, std::int64_t) {
      for (std::int64_t task = next++; task < count; task = next++) work(task, task + 1);
    });
  }
};

}  // namespace isentropic::pytorch
