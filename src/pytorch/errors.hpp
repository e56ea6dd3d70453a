// The library's Error as PyTorch's, which Python sees as ValueError.
#pragma once

#include <c10/util/Exception.h>

#include <exception>

#include "isentropic/error.hpp"

namespace isentropic::pytorch {

template <class Work>
auto with_python_errors(Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    C10_THROW_ERROR(ValueError, error.what());
  }
}

}  // namespace isentropic::pytorch
