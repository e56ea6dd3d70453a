// A loop over heads on the threads of an executor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isentropic/executor.hpp"

namespace isentropic::scan {

// f(i) for every i < count.
template <class F>
void in_parallel(Executor& executor, std::size_t count, F f) {
  executor.parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(static_cast<std::size_t>(i));
  });
}

}  // namespace isentropic::scan
