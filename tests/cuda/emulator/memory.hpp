// Memory of the emulated device: an access far beyond its end faults immediately, a write just beyond it is detected
// when the memory is freed.
#pragma once

#include <cstddef>

namespace emulator {

// Aligned to 256 bytes; null if out of memory.
void* allocate(std::size_t bytes);
// Aborts the program if something was written past the end of the memory.
void give_back(void* data);

}  // namespace emulator
