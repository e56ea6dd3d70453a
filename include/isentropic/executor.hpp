// Where the work runs. The caller may pass an executor; the default is OpenMP (or one thread if built without it).
//
// Work is a range [0, count) of independent tasks. An executor may cut the range anywhere and run the pieces in any
// order: results are bit-identical regardless.
#pragma once

#include <cstdint>
#include <functional>

#include "isentropic/export.hpp"

namespace isentropic {

class ISENTROPIC_API Executor {
 public:
  using Work = std::function<void(std::int64_t begin, std::int64_t end)>;
  virtual ~Executor() = default;
  virtual const char* name() const = 0;
  virtual int threads() const = 0;
  virtual void parallel_for(std::int64_t count, const Work& work) = 0;
};

// Runs everything on the calling thread.
ISENTROPIC_API Executor& serial_executor();

// OpenMP with its default number of threads (OMP_NUM_THREADS), capped at 64 or four per processor, whichever is more;
// serial when the library is built without OpenMP.
ISENTROPIC_API Executor& default_executor();

// Like default_executor(), but with a fixed number of threads, up to the same limit.
class ISENTROPIC_API FixedThreads final : public Executor {
 public:
  explicit FixedThreads(int threads) : threads_(threads) {}
  const char* name() const override { return default_executor().name(); }
  int threads() const override { return threads_; }
  void parallel_for(std::int64_t count, const Work& work) override;

 private:
  int threads_;
};

}  // namespace isentropic
