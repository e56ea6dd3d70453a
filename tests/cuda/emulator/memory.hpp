// Memory of the emulated device: whoever reads or writes far beyond its end is stopped, whoever writes a little beyond
// it is found out when it is given back.
#pragma once

#include <cstddef>

namespace emulator {

// At a multiple of 256 bytes; null: there is not so much.
void* allocate(std::size_t bytes);
// Ends the program if something was written behind the memory.
void give_back(void* data);

}  // namespace emulator
