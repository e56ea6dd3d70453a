// A thread block of a GPU on one CPU thread: its threads are fibers that switch wherever they wait for each other.
//
// Wherever a GPU gives no guarantee, the emulator chooses the worst case. A warp runs alone until all its lanes wait
// for the block, and the next warp is drawn at random; blocks run sequentially, alternately from the first and from the
// last. Shared memory starts as NaN. An asynchronous copy overwrites its target with NaN immediately and only happens
// when its thread waits for it. A missing barrier or wait therefore shows in the results, and does so reproducibly.
// Outright errors, such as a barrier that some threads never reach, end the launch with an exception that names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace emulator {

struct Extent {
  unsigned x, y, z;
  constexpr Extent(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT: as dim3
  unsigned count() const { return x * y * z; }
};

// Runs `thread` for each thread of each block, with `bytes` of dynamic shared memory. Throws std::runtime_error if the
// kernel breaks a rule.
void run_grid(Extent blocks, Extent threads, std::size_t bytes, const std::function<void()>& thread);

// ---- Called from a thread ----

// Aborts the launch.
[[noreturn]] void fail(const std::string& what);

// Waits for all threads of the block. Returns how many of them passed true.
int wait_for_block(const char* instruction, bool value);

// Waits for all lanes of the warp. The last to arrive gets every lane's `own` and must call let_warp_go; the others get
// null afterwards.
void** meet_warp(const char* instruction, void* own);
void let_warp_go();

// Calls act(lane number -> that lane's `own`) once all lanes have arrived.
template <class Lane, class Act>
void with_warp(const char* instruction, Lane& own, Act act) {
  if (void** const all = meet_warp(instruction, &own)) {
    act([all](int lane) -> Lane& { return *static_cast<Lane*>(all[lane]); });
    let_warp_go();
  }
}

// ---- Shared memory ----

unsigned char* dynamic_shared();
// Offset from the start of the dynamic shared memory.
std::uint32_t shared_offset(const void* p);
// Address of `bytes` bytes at an offset that must be a multiple of `bytes`.
unsigned char* at_shared_offset(std::uint32_t offset, std::size_t bytes);

// Copies zeros instead of the data at `from` unless `valid`.
void copy_to_shared_later(std::uint32_t to, const void* from, std::size_t bytes, bool valid);
void commit_shared_copies();
// Completes all but the last `pending` committed groups.
void finish_shared_copies(std::size_t pending);

}  // namespace emulator

// Named as in CUDA.
extern emulator::Extent threadIdx, blockIdx, blockDim, gridDim;
