// Cache-line-aligned buffers: vectors and tile rows of 64 bytes then never straddle two lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace isentropic {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  template <class U>
  bool operator==(const LineAllocator<U>&) const {
    return true;
  }
};

template <class T>
using Buffer = std::vector<T, LineAllocator<T>>;

}  // namespace isentropic
