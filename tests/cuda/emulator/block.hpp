// A thread block of a GPU on one thread of the CPU: its threads are fibers that switch where they wait for each other.
//
// What a GPU leaves open is settled for the worst. A warp runs alone until all its lanes wait for the block, and which
// one is next is drawn; blocks run one after another, in turn from the first and from the last. Shared memory begins as
// NaN. An asynchronous copy makes its target NaN at once and takes place only when its thread waits for it. So a
// missing barrier or wait shows in the results, and shows again the next time. What cannot be right at all, such as a
// barrier that some threads never reach, ends the launch with an error that says so.
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

// Runs `thread` for each thread of each block, with `bytes` of dynamic shared memory. Throws std::runtime_error where
// the kernel broke a rule.
void run_grid(Extent blocks, Extent threads, std::size_t bytes, const std::function<void()>& thread);

// ---- For what runs in a thread ----

// Ends the launch.
[[noreturn]] void fail(const std::string& what);

// Waits for all threads of the block. Returns how many of them gave true.
int wait_for_block(const char* instruction, bool value);

// Waits for all lanes of the warp. The last to come gets what each lane left, `own`, and must call let_warp_go; the
// others get null, after that.
void** meet_warp(const char* instruction, void* own);
void let_warp_go();

// act(lane number -> what it left), once, when all lanes are there.
template <class Lane, class Act>
void with_warp(const char* instruction, Lane& own, Act act) {
  if (void** const all = meet_warp(instruction, &own)) {
    act([all](int lane) -> Lane& { return *static_cast<Lane*>(all[lane]); });
    let_warp_go();
  }
}

// ---- Shared memory ----

unsigned char* dynamic_shared();
// From the start of the dynamic shared memory.
std::uint32_t shared_offset(const void* p);
// Where `bytes` bytes lie, at a multiple of `bytes`.
unsigned char* at_shared_offset(std::uint32_t offset, std::size_t bytes);

// Zeros instead of what lies at `from` unless `valid`.
void copy_to_shared_later(std::uint32_t to, const void* from, std::size_t bytes, bool valid);
void commit_shared_copies();
// Carries out all but the last `pending` committed groups.
void finish_shared_copies(std::size_t pending);

}  // namespace emulator

// As CUDA names them.
extern emulator::Extent threadIdx, blockIdx, blockDim, gridDim;
