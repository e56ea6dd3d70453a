// amx.hpp on x86-64: a tiled product, two tiles of rows at a time.
#if defined(__x86_64__)

#include "attention/cpu/kernels/amx.hpp"

#include <cpuid.h>
#include <immintrin.h>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define ISENTROPIC_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace isentropic::amx {
namespace {

constexpr std::int64_t kTileRows = 16, kTileBytes = 64;

// The memory layout of LDTILECFG.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  // Tiles of sums (0 to 3) and of A (4, 5) have `left_rows` rows, those of B (6, 7) all 16.
  explicit TileShapes(std::int64_t left_rows) {
    for (int tile = 0; tile < 8; ++tile) {
      row_bytes[tile] = kTileBytes;
      rows[tile] = static_cast<std::uint8_t>(tile < 6 ? left_rows : kTileRows);
    }
  }
};

ISENTROPIC_AMX inline void set_shapes(const TileShapes& shapes) {
  asm volatile("" : : "r"(&shapes) : "memory");  // GCC 12 does not know that LDTILECFG reads all of it
  _tile_loadconfig(&shapes);
}

// Rows [r, r + 16 kRowTiles) by columns [c, c + 16 kStrips), with sums kept in tiles. Tile numbers must be literals.
template <int kRowTiles, int kStrips>
ISENTROPIC_AMX inline void product_tiles(const NarrowProduct& x, std::int64_t r, std::int64_t c, Store store) {
  constexpr bool kTwoRows = kRowTiles == 2, kTwoStrips = kStrips == 2;
  const std::int64_t out_stride = x.out_stride * 4, a_stride = x.a_stride * 2;
  if (store == Store::accumulate) {
    _tile_loadd(0, x.sum(r, c), out_stride);
    if constexpr (kTwoStrips) _tile_loadd(1, x.sum(r, c + kStrip), out_stride);
    if constexpr (kTwoRows) _tile_loadd(2, x.sum(r + kTileRows, c), out_stride);
    if constexpr (kTwoRows && kTwoStrips) _tile_loadd(3, x.sum(r + kTileRows, c + kStrip), out_stride);
  } else {
    _tile_zero(0);
    if constexpr (kTwoStrips) _tile_zero(1);
    if constexpr (kTwoRows) _tile_zero(2);
    if constexpr (kTwoRows && kTwoStrips) _tile_zero(3);
  }
  for (std::int64_t i = 0; i < x.inner; i += kNarrowInner) {
    _tile_loadd(4, x.left(r, i), a_stride);
    _tile_loadd(6, x.right(i, c), kTileBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoStrips) {
      _tile_loadd(7, x.right(i, c + kStrip), kTileBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_loadd(5, x.left(r + kTileRows, i), a_stride);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kTwoRows && kTwoStrips) _tile_dpbf16ps(3, 5, 7);
    if (x.overlapped) x.overlapped->step();
  }
  _tile_stored(0, x.sum(r, c), out_stride);
  if constexpr (kTwoStrips) _tile_stored(1, x.sum(r, c + kStrip), out_stride);
  if constexpr (kTwoRows) _tile_stored(2, x.sum(r + kTileRows, c), out_stride);
  if constexpr (kTwoRows && kTwoStrips) _tile_stored(3, x.sum(r + kTileRows, c + kStrip), out_stride);
}

// Rows [begin, end) in steps of kRowTiles tiles; columns are the outer loop so that two strips of B stay in cache.
template <int kRowTiles>
ISENTROPIC_AMX void product_rows(const NarrowProduct& x, std::int64_t begin, std::int64_t end, Store store) {
  for (std::int64_t c = 0; c < x.cols; c += 2 * kStrip)
    for (std::int64_t r = begin; r < end; r += kRowTiles * kTileRows)
      c + kStrip < x.cols ? product_tiles<kRowTiles, 2>(x, r, c, store) : product_tiles<kRowTiles, 1>(x, r, c, store);
}

#ifdef __linux__
bool permitted() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool permitted() { return false; }
#endif

}  // namespace

bool available() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kBf16) == 0 || (d & kTile) == 0) return false;
  static const bool once = permitted();
  return once;
}

// Shapes are set before each product and released after it, since the thread may also run another library that uses
// tiles its own way. This costs a fraction of a microsecond per block of products.
ISENTROPIC_AMX void product(const NarrowProduct& x, Store store) {
  const std::int64_t whole = x.rows / kTileRows * kTileRows, paired = whole / (2 * kTileRows) * (2 * kTileRows);
  if (whole > 0) {
    set_shapes(TileShapes(kTileRows));
    product_rows<2>(x, 0, paired, store);
    product_rows<1>(x, paired, whole, store);
  }
  if (whole < x.rows) {
    set_shapes(TileShapes(x.rows - whole));
    product_rows<1>(x, whole, x.rows, store);
  }
  _tile_release();
}

}  // namespace isentropic::amx

#endif
