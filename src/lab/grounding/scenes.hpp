// Images with objects, and a two-word question about those of one kind.
//
// An image is a square grid of patches of 6 x 6 pixels in three colours. A patch is empty or holds one object, which
// has a shape (square, cross, ring or bar), a colour (red, green, blue or yellow), a position in the patch and a
// brightness. A question names a colour and asks for the shape, or names a shape and asks for the colour. `matching`
// objects have the named attribute, and all of them have the answer in common; of the other patches, a fraction
// `filled` holds objects of any other kind. Pixels have noise.
//
// An ideal reader attends to the matching patches alone, and to all of them equally: H = log(matching).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace isentropic::lab::grounding {

inline constexpr std::int64_t kColours = 4, kShapes = 4;
inline constexpr std::int64_t kWords = kColours + kShapes + 2;  // colours, shapes, "colour?", "shape?"
inline constexpr std::int64_t kAnswers = kColours + kShapes;
inline constexpr std::int64_t kPixels = 3 * 6 * 6;  // values per patch
inline constexpr std::int64_t kText = 2;            // words per question

struct Scenes {
  at::Tensor patches;   // [batch, side^2, kPixels]
  at::Tensor words;     // [batch, kText]
  at::Tensor answers;   // [batch]
  at::Tensor matching;  // [batch, side^2], 1 where a patch matches, else 0
};

struct SceneOptions {
  std::int64_t side = 8;
  std::int64_t matching = 1;  // 1 ... side^2
  double filled = 0.5;        // fraction of the other patches
};

Scenes draw_scenes(std::int64_t batch, const SceneOptions& options, std::uint64_t seed);

}  // namespace isentropic::lab::grounding
