// Draws images of objects and questions about them.
#include "lab/grounding/scenes.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <string_view>

namespace isentropic::lab::grounding {
namespace {

constexpr std::int64_t kPatch = 6, kDrawing = 5;  // pixels per side
constexpr std::int64_t kPlaces = 4;               // positions of a drawing in its patch
constexpr double kNoise = 0.1;

constexpr std::string_view kDrawings[kShapes][kDrawing] = {{"#####", "#####", "#####", "#####", "#####"},
                                                           {"..#..", "..#..", "#####", "..#..", "..#.."},
                                                           {"#####", "#...#", "#...#", "#...#", "#####"},
                                                           {".....", ".....", "#####", ".....", "....."}};
constexpr float kRedGreenBlue[kColours][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}};

// [kShapes kPlaces, kPatch^2], values 0 and 1.
at::Tensor drawn_shapes() {
  at::Tensor out = at::zeros({kShapes, kPlaces, kPatch, kPatch});
  auto pixels = out.accessor<float, 4>();
  for (std::int64_t shape = 0; shape < kShapes; ++shape)
    for (std::int64_t place = 0; place < kPlaces; ++place)
      for (std::int64_t row = 0; row < kDrawing; ++row)
        for (std::int64_t column = 0; column < kDrawing; ++column)
          if (kDrawings[shape][row][static_cast<std::size_t>(column)] == '#')
            pixels[shape][place][row + place / 2][column + place % 2] = 1;
  return out.view({kShapes * kPlaces, kPatch * kPatch});
}

at::Tensor colours() {
  return at::from_blob(const_cast<float*>(&kRedGreenBlue[0][0]), {kColours, 3}, at::kFloat).clone();
}

// The objects of a batch, each [batch, patches].
struct Objects {
  at::Tensor colour, shape, visible;
};

at::Tensor painted(const Objects& objects, at::Generator& generator) {
  const at::IntArrayRef sizes = objects.colour.sizes();
  const auto look_up = [&](const at::Tensor& table, const at::Tensor& index) {
    return table.index_select(0, index.flatten()).view({sizes[0], sizes[1], table.size(1)});
  };
  const at::Tensor places = at::randint(0, kPlaces, sizes, generator, at::kLong);
  const at::Tensor brightness = (at::rand(sizes, generator) * 0.4 + 0.6) * objects.visible;
  const at::Tensor pixels = look_up(drawn_shapes(), objects.shape * kPlaces + places) * brightness.unsqueeze(2);
  const at::Tensor image = look_up(colours(), objects.colour).unsqueeze(3) * pixels.unsqueeze(2);
  return image.flatten(2) + kNoise * at::randn({sizes[0], sizes[1], kPixels}, generator);
}

}  // namespace

Scenes draw_scenes(std::int64_t batch, const SceneOptions& options, std::uint64_t seed) {
  static_assert(kColours == kShapes, "either may be named, and the other asked for");
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::int64_t n = options.side * options.side;
  const auto draw = [&](std::int64_t low, std::int64_t high, at::IntArrayRef sizes) {
    return at::randint(low, high, sizes, generator, at::kLong);
  };
  const at::Tensor asks_shape = draw(0, 2, {batch, 1}).to(at::kBool);
  const at::Tensor named = draw(0, kColours, {batch, 1}), answer = draw(0, kShapes, {batch, 1});
  const at::Tensor matching = at::rand({batch, n}, generator).argsort(std::int64_t{1}).lt(options.matching);
  // The other objects differ in the named attribute; in the one that is asked for they have any value.
  const at::Tensor of_name = at::where(matching, named, (named + draw(1, kColours, {batch, n})) % kColours);
  const at::Tensor of_answer = at::where(matching, answer, draw(0, kShapes, {batch, n}));
  const at::Tensor is_filled = matching.logical_or(at::rand({batch, n}, generator).lt(options.filled));
  const Objects objects{at::where(asks_shape, of_name, of_answer), at::where(asks_shape, of_answer, of_name),
                        is_filled.to(at::kFloat)};
  const at::Tensor is_shape = asks_shape.to(at::kLong);
  Scenes out;
  out.patches = painted(objects, generator);
  out.words = at::cat({named + kColours * (1 - is_shape), kColours + kShapes + is_shape}, 1);
  out.answers = (answer + kColours * is_shape).squeeze(1);
  out.matching = matching.to(at::kFloat);
  return out;
}

}  // namespace isentropic::lab::grounding
