// The vectors of the target being compiled.
#if defined(ISENTROPIC_HIGHWAY_VECTOR) == defined(HWY_TARGET_TOGGLE)
#ifdef ISENTROPIC_HIGHWAY_VECTOR
#undef ISENTROPIC_HIGHWAY_VECTOR
#else
#define ISENTROPIC_HIGHWAY_VECTOR
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace isentropic {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

}  // namespace HWY_NAMESPACE
}  // namespace isentropic
HWY_AFTER_NAMESPACE();

#endif
