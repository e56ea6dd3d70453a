// The instruction sets the kernels were built for, in order of preference.
//
// The environment variable ISENTROPIC_ISA forces one by name; it is read once, by the first call that needs kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isentropic/export.hpp"

namespace isentropic {

struct InstructionSet {
  std::string name;
  bool supported;  // by this CPU
  bool active;     // the one in use
};

ISENTROPIC_API std::vector<InstructionSet> instruction_sets();

// Runs register-only float32 multiply-adds with the active set on the calling thread and returns the number of
// operations: timing it gives the peak that kernels are measured against.
ISENTROPIC_API double fma_burst(std::int64_t rounds);

}  // namespace isentropic
