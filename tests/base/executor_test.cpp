// Every task runs exactly once, whatever the number of threads.
#include "isentropic/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace isentropic {
namespace {

TEST(Executor, RunsEveryTaskOnce) {
  for (const int threads : {-1, 0, 1, 3, 100'000, 2'000'000'000}) {
    std::vector<std::atomic<int>> runs(1000);
    FixedThreads(threads).parallel_for(1000, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
    });
    for (const auto& count : runs) ASSERT_EQ(count, 1) << threads;
  }
}

TEST(Executor, CarriesAnErrorOut) {
  const auto fails = [](std::int64_t begin, std::int64_t) {
    if (begin == 7) throw std::runtime_error("task 7");
  };
  EXPECT_THROW(default_executor().parallel_for(20, fails), std::runtime_error);
  EXPECT_NO_THROW(default_executor().parallel_for(5, fails));
}

}  // namespace
}  // namespace isentropic
