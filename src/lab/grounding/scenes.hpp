// Images with objects, and a question of two words about those of one kind.
//
// An image is a square grid of patches of 6 x 6 pixels in three colours. A patch is empty or holds one object, which
// has a shape (square, cross, ring or bar), a colour (red, green, blue or yellow), a place in the patch and a
// brightness. A question names a colour and asks for the shape, or names a shape and asks for the colour. `matching`
// objects have what it names, and all of these have the answer as well; of the other patches a share is filled with
// objects of any other kind. Pixels have noise.
//
// An ideal reader rests on the matching patches alone, without a preference: H = log(matching).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace isentropic::lab::grounding {

inline constexpr std::int64_t kColours = 4, kShapes = 4;
inline constexpr std::int64_t kWords = kColours + kShapes + 2;  // colours, shapes, "colour?", "shape?"
inline constexpr std::int64_t kAnswers = kColours + kShapes;
inline constexpr std::int64_t kPixels = 3 * 6 * 6;  // numbers of a patch
inline constexpr std::int64_t kText = 2;            // words of a question

struct Scenes {
  at::Tensor patches;   // [batch, side^2, kPixels]
  at::Tensor words;     // [batch, kText]
  at::Tensor answers;   // [batch]
  at::Tensor matching;  // [batch, side^2], 1 where a patch matches, and 0
};

struct SceneOptions {
  std::int64_t side = 8;
  std::int64_t matching = 1;  // 1 ... side^2
  double filled = 0.5;        // of the other patches
};

Scenes draw_scenes(std::int64_t batch, const SceneOptions& options, std::uint64_t seed);

}  // namespace isentropic::lab::grounding
