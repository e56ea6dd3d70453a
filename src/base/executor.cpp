// The serial executor, and the default one on OpenMP threads.
#include "isentropic/executor.hpp"

#include <algorithm>
#include <exception>

#if defined(ISENTROPIC_WITH_OPENMP)
#include <omp.h>
#endif

namespace isentropic {
namespace {

class Serial final : public Executor {
 public:
  const char* name() const override { return "serial"; }
  int threads() const override { return 1; }
  void parallel_for(std::int64_t count, const Work& work) override {
    if (count > 0) work(0, count);
  }
};

#if defined(ISENTROPIC_WITH_OPENMP)
// Having far more threads than processors only costs memory, and beyond a system-dependent number OpenMP terminates the
// program. Results do not depend on the number of threads.
int within_reason(int threads) {
  constexpr int kAlways = 64;
  return std::clamp(threads, 1, std::max(kAlways, 4 * omp_get_num_procs()));
}

// Tasks are scheduled one at a time because causal rows differ in cost. An exception is rethrown outside the parallel
// region.
void openmp_for(std::int64_t count, int threads, const Executor::Work& work) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      work(i, i + 1);
    } catch (...) {
#pragma omp critical(isentropic_executor)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

class OpenMp final : public Executor {
 public:
  const char* name() const override { return "openmp"; }
  int threads() const override { return within_reason(omp_get_max_threads()); }
  void parallel_for(std::int64_t count, const Work& work) override { openmp_for(count, threads(), work); }
};
#endif

}  // namespace

Executor& serial_executor() {
  static Serial serial;
  return serial;
}

Executor& default_executor() {
#if defined(ISENTROPIC_WITH_OPENMP)
  static OpenMp openmp;
  return openmp;
#else
  return serial_executor();
#endif
}

void FixedThreads::parallel_for(std::int64_t count, const Work& work) {
#if defined(ISENTROPIC_WITH_OPENMP)
  openmp_for(count, within_reason(threads_), work);
#else
  serial_executor().parallel_for(count, work);
#endif
}

}  // namespace isentropic
