// Device memory that ends right before an inaccessible page.
#include "cuda/emulator/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace emulator {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr unsigned char kBehind = 0xff;

struct Mapping {
  unsigned char* start;
  std::size_t size, bytes, behind;  // total size of the pages; requested size; padding up to the alignment
};

std::map<void*, Mapping>& mappings() {
  static std::map<void*, Mapping> all;
  return all;
}

std::size_t rounded_up(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

}  // namespace

void* allocate(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t aligned = rounded_up(std::max<std::size_t>(bytes, 1), kAlignment), open = rounded_up(aligned, page);
  void* const start = mmap(nullptr, open + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* const first = static_cast<unsigned char*>(start);
  if (mprotect(first + open, page, PROT_NONE) != 0) return nullptr;
  unsigned char* const data = first + open - aligned;
  std::memset(data + bytes, kBehind, aligned - bytes);
  mappings()[data] = {first, open + page, bytes, aligned - bytes};
  return data;
}

void give_back(void* data) {
  const auto found = mappings().find(data);
  if (found == mappings().end()) return;
  const Mapping& mapping = found->second;
  const unsigned char* const end = static_cast<unsigned char*>(data) + mapping.bytes;
  if (std::any_of(end, end + mapping.behind, [](unsigned char byte) { return byte != kBehind; })) {
    std::fprintf(stderr, "a kernel wrote beyond the end of %zu bytes of the device\n", mapping.bytes);
    std::abort();
  }
  munmap(mapping.start, mapping.size);
  mappings().erase(found);
}

}  // namespace emulator
