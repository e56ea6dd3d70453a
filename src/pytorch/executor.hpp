// Runs work on PyTorch's threads: torch.set_num_threads applies, and there is no second thread pool.
#pragma once

#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"

namespace isentropic::pytorch {

class ISENTROPIC_API TorchThreads final : public Executor {
 public:
  const char* name() const override { return "torch"; }
  int threads() const override;
  void parallel_for(std::int64_t count, const Work& work) override;
};

}  // namespace isentropic::pytorch
