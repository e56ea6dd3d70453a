// Fibers, barriers and shared memory of the emulated thread block.
#include "cuda/emulator/block.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

emulator::Extent threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {
namespace {

constexpr int kLanes = 32, kMostThreads = 1024;
constexpr std::size_t kStackBytes = 128 << 10, kMostShared = 227 << 10, kGuard = 1024;
constexpr unsigned char kPoison = 0xff, kGuardByte = 0xa5;

alignas(1024) unsigned char shared_memory[kMostShared + kGuard];
std::size_t shared_bytes = 0;

struct Copy {
  unsigned char* to;
  const void* from;
  std::size_t bytes;
  bool valid;
};

enum class State { ready, waits_for_warp, waits_for_block, done };

struct Fiber {
  jmp_buf place;
  ucontext_t context = {};
  std::unique_ptr<unsigned char[]> stack;
  State state = State::done;
  Extent index;
  const char* instruction = nullptr;  // what it waits at
  std::vector<Copy> copies;
  std::vector<std::size_t> groups;  // end of each committed group in `copies`
};

struct Warp {
  int arrived = 0;
  const char* instruction = nullptr;
  void* left[kLanes];
};

struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Warp> warps;
  int threads = 0, current = 0, finished = 0;
  int arrived = 0, given_true = 0, last_given_true = 0;
  const char* instruction = nullptr;  // the barrier that threads wait at
  std::uint32_t random = 1;
  const std::function<void()>* thread = nullptr;
  std::string error;
  jmp_buf host;
};

Block block;

std::string name_of_thread(int thread) {
  return "thread " + std::to_string(thread) + " of block " + std::to_string(blockIdx.x);
}

// ---- Switching ----

[[noreturn]] void resume(int thread) {
  block.current = thread;
  threadIdx = block.fibers[static_cast<std::size_t>(thread)]->index;
  _longjmp(block.fibers[static_cast<std::size_t>(thread)]->place, 1);
}

[[noreturn]] void return_to_host() { _longjmp(block.host, 1); }

unsigned draw(unsigned count) {
  block.random = block.random * 1664525u + 1013904223u;
  return (block.random >> 16) % count;
}

// The warp's next lane that is ready, starting at `from` and wrapping around; -1 if there is none.
int ready_lane(int warp, int from) {
  for (int step = 0; step < kLanes; ++step) {
    const int thread = warp * kLanes + (from + step) % kLanes;
    if (thread < block.threads && block.fibers[static_cast<std::size_t>(thread)]->state == State::ready) return thread;
  }
  return -1;
}

std::string describe_deadlock() {
  int at_warp = 0;
  std::string instruction;
  for (int t = 0; t < block.threads; ++t)
    if (const Fiber& fiber = *block.fibers[static_cast<std::size_t>(t)]; fiber.state == State::waits_for_warp) {
      if (at_warp++ == 0) instruction = fiber.instruction;
    }
  if (at_warp > 0)
    return instruction + " is reached by " + std::to_string(at_warp) + " threads whose warps never come whole";
  return std::string(block.instruction) + " is reached by " + std::to_string(block.arrived) + " of " +
         std::to_string(block.threads) + " threads; " + std::to_string(block.finished) + " have ended";
}

// Switches away from the current thread, which waits or is done.
[[noreturn]] void run_next() {
  const int warps = static_cast<int>(block.warps.size());
  if (const int next = ready_lane(block.current / kLanes, block.current % kLanes); next >= 0) resume(next);
  const int first = static_cast<int>(draw(static_cast<unsigned>(warps)));
  for (int step = 0; step < warps; ++step)
    if (const int next = ready_lane((first + step) % warps, static_cast<int>(draw(kLanes))); next >= 0) resume(next);
  if (block.finished < block.threads) block.error = describe_deadlock();
  return_to_host();
}

void wait_as(State state, const char* instruction) {
  Fiber& fiber = *block.fibers[static_cast<std::size_t>(block.current)];
  fiber.state = state, fiber.instruction = instruction;
  if (_setjmp(fiber.place) == 0) run_next();
}

// Runs one block after another.
void fiber_main() {
  for (;;) {
    (*block.thread)();
    Fiber& fiber = *block.fibers[static_cast<std::size_t>(block.current)];
    fiber.state = State::done, ++block.finished;
    if (_setjmp(fiber.place) == 0) run_next();
  }
}

// Enters a new fiber once to record its jump target; switching contexts would cost a system call each time.
void prepare(Fiber& fiber) {
  static Fiber* entering;
  static jmp_buf back;
  fiber.stack.reset(new unsigned char[kStackBytes]);
  if (getcontext(&fiber.context) != 0) throw std::runtime_error("no context for a fiber");
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  entering = &fiber;
  const auto enter = [] {
    if (_setjmp(entering->place) == 0) _longjmp(back, 1);
    fiber_main();
  };
  makecontext(&fiber.context, enter, 0);
  if (_setjmp(back) == 0) setcontext(&fiber.context);
}

void make_fibers(int count) {
  while (static_cast<int>(block.fibers.size()) < count) prepare(*block.fibers.emplace_back(std::make_unique<Fiber>()));
}

// ---- Blocks ----

void start_block(Extent threads, std::size_t bytes) {
  shared_bytes = bytes;
  std::memset(shared_memory, kPoison, bytes);
  std::memset(shared_memory + bytes, kGuardByte, kGuard);
  block.threads = static_cast<int>(threads.count());
  block.warps.assign(static_cast<std::size_t>((block.threads + kLanes - 1) / kLanes), {});
  block.finished = block.arrived = block.given_true = 0;
  for (int t = 0; t < block.threads; ++t) {
    Fiber& fiber = *block.fibers[static_cast<std::size_t>(t)];
    const auto number = static_cast<unsigned>(t);
    fiber.index = {number % threads.x, number / threads.x % threads.y, number / threads.x / threads.y};
    fiber.state = State::ready, fiber.copies.clear(), fiber.groups.clear();
  }
  block.current = static_cast<int>(draw(static_cast<unsigned>(block.threads)));
}

void check_guard() {
  const unsigned char* const guard = shared_memory + shared_bytes;
  if (std::any_of(guard, guard + kGuard, [](unsigned char byte) { return byte != kGuardByte; }))
    block.error = "block " + std::to_string(blockIdx.x) + " wrote beyond its " + std::to_string(shared_bytes) +
                  " bytes of shared memory";
}

void run_block(Extent threads, std::size_t bytes) {
  start_block(threads, bytes);
  if (_setjmp(block.host) == 0) run_next();
  if (block.error.empty()) check_guard();
  if (block.error.empty()) return;
  block.fibers.clear();  // some were abandoned in the middle of the kernel
  throw std::runtime_error(std::exchange(block.error, {}));
}

// Threads that wait together must be at the same instruction.
void expect_same(const char* instruction, const char* other) {
  if (instruction != other && std::strcmp(instruction, other) != 0)
    fail(std::string(instruction) + " where others are at " + other);
}

}  // namespace

void run_grid(Extent blocks, Extent threads, std::size_t bytes, const std::function<void()>& thread) {
  static bool from_last = false;
  if (threads.count() == 0 || threads.count() > kMostThreads || bytes > kMostShared)
    throw std::runtime_error("no GPU has blocks of " + std::to_string(threads.count()) + " threads and " +
                             std::to_string(bytes) + " bytes");
  gridDim = blocks, blockDim = threads, block.thread = &thread;
  make_fibers(static_cast<int>(threads.count()));
  for (unsigned turn = 0; turn < blocks.count(); ++turn) {
    const unsigned number = from_last ? blocks.count() - 1 - turn : turn;
    blockIdx = {number % blocks.x, number / blocks.x % blocks.y, number / blocks.x / blocks.y};
    run_block(threads, bytes);
  }
  from_last = !from_last;
}

void fail(const std::string& what) {
  block.error = name_of_thread(block.current) + ": " + what;
  return_to_host();
}

int wait_for_block(const char* instruction, bool value) {
  if (block.arrived > 0) expect_same(instruction, block.instruction);
  block.instruction = instruction, block.given_true += value;
  if (++block.arrived < block.threads) {
    wait_as(State::waits_for_block, instruction);
    return block.last_given_true;
  }
  for (int t = 0; t < block.threads; ++t) block.fibers[static_cast<std::size_t>(t)]->state = State::ready;
  block.last_given_true = block.given_true;
  block.arrived = block.given_true = 0;
  const int found = block.last_given_true;
  // The last to arrive need not continue first.
  Fiber& fiber = *block.fibers[static_cast<std::size_t>(block.current)];
  if (_setjmp(fiber.place) == 0) {
    block.current = static_cast<int>(draw(static_cast<unsigned>(block.warps.size()))) * kLanes;
    run_next();
  }
  return found;
}

void** meet_warp(const char* instruction, void* own) {
  Warp& warp = block.warps[static_cast<std::size_t>(block.current / kLanes)];
  if (warp.arrived > 0) expect_same(instruction, warp.instruction);
  warp.instruction = instruction;
  warp.left[block.current % kLanes] = own;
  if (++warp.arrived == kLanes) return warp.left;
  wait_as(State::waits_for_warp, instruction);
  return nullptr;
}

void let_warp_go() {
  const int first = block.current / kLanes * kLanes;
  for (int t = first; t < first + kLanes; ++t) block.fibers[static_cast<std::size_t>(t)]->state = State::ready;
  block.warps[static_cast<std::size_t>(block.current / kLanes)].arrived = 0;
}

// ---- Shared memory ----

unsigned char* dynamic_shared() { return shared_memory; }

std::uint32_t shared_offset(const void* p) {
  const std::ptrdiff_t offset = static_cast<const unsigned char*>(p) - shared_memory;
  if (offset < 0 || offset > static_cast<std::ptrdiff_t>(shared_bytes)) fail("address is not in shared memory");
  return static_cast<std::uint32_t>(offset);
}

unsigned char* at_shared_offset(std::uint32_t offset, std::size_t bytes) {
  if (offset + bytes > shared_bytes || offset % bytes != 0)
    fail("shared memory at " + std::to_string(offset) + ", " + std::to_string(bytes) + " bytes; the block has " +
         std::to_string(shared_bytes));
  return shared_memory + offset;
}

void copy_to_shared_later(std::uint32_t to, const void* from, std::size_t bytes, bool valid) {
  if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0)
    fail("copies begin at a multiple of " + std::to_string(bytes) + " bytes");
  unsigned char* const place = at_shared_offset(to, bytes);
  std::memset(place, kPoison, bytes);
  block.fibers[static_cast<std::size_t>(block.current)]->copies.push_back({place, from, bytes, valid});
}

void commit_shared_copies() {
  Fiber& fiber = *block.fibers[static_cast<std::size_t>(block.current)];
  fiber.groups.push_back(fiber.copies.size());
}

void finish_shared_copies(std::size_t pending) {
  Fiber& fiber = *block.fibers[static_cast<std::size_t>(block.current)];
  if (fiber.groups.size() <= pending) return;
  const std::size_t count = fiber.groups.size() - pending, end = fiber.groups[count - 1];
  for (std::size_t c = 0; c < end; ++c) {
    const Copy& copy = fiber.copies[c];
    if (copy.valid)
      std::memcpy(copy.to, copy.from, copy.bytes);
    else
      std::memset(copy.to, 0, copy.bytes);
  }
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + static_cast<std::ptrdiff_t>(end));
  fiber.groups.erase(fiber.groups.begin(), fiber.groups.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t& group : fiber.groups) group -= end;
}

}  // namespace emulator
