// Trains readers of images and measures where they attend.
#include "lab/grounding/study.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/mix.hpp"
#include "lab/grounding/network.hpp"
#include "lab/layer_means.hpp"
#include "model/names.hpp"

namespace isentropic::lab::grounding {
namespace {

enum class Purpose : std::uint8_t { training, test };

class Reader final : public Learner {
 public:
  Reader(const Study& study, const Variant& variant)
      : study_(study),
        seed_(variant.seed),
        device_(model::device_named("device", study.variants.device)),
        network_(attention_of(study.variants, variant), study.variants.layers, variant.seed) {
    network_.to(device_);
  }

  torch::nn::Module& network() override { return network_; }

  at::Tensor loss(std::int64_t step) override {
    const std::uint64_t seed = seed_of(Purpose::training, {step});
    const std::int64_t matching = 1 + static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(study_.max_matching));
    const Scenes scenes = drawn(study_.variants.batch, study_.side, matching, mix(seed));
    return at::cross_entropy_loss(network_.forward(scenes, Weights::none).logits, scenes.answers);
  }

  nlohmann::ordered_json measure() override { return options_to_json(by_matching()); }

  nlohmann::ordered_json test() override {
    std::vector<Measured> out = by_matching();
    for (const std::int64_t side : study_.sides) out.push_back(measured_at(side, study_.matching_of_sides));
    return options_to_json(out);
  }

 private:
  std::vector<Measured> by_matching() {
    std::vector<Measured> out;
    for (const std::int64_t matching : study_.matching) out.push_back(measured_at(study_.side, matching));
    return out;
  }

  Scenes drawn(std::int64_t batch, std::int64_t side, std::int64_t matching, std::uint64_t seed) const {
    Scenes out = draw_scenes(batch, {.side = side, .matching = matching}, seed);
    for (at::Tensor* x : {&out.patches, &out.words, &out.answers, &out.matching}) *x = x->to(device_);
    return out;
  }

  Measured measured_at(std::int64_t side, std::int64_t matching) {
    Measured out{.patches = side * side, .matching = matching};
    LayerMeans entropy, weight;
    const std::int64_t examples = study_.variants.examples;
    for (std::int64_t done = 0; done < examples; done += study_.variants.batch) {
      const std::int64_t count = std::min(examples - done, study_.variants.batch);
      const double share = static_cast<double>(count) / static_cast<double>(examples);
      const Scenes scenes = drawn(count, side, matching, seed_of(Purpose::test, {side, matching, done}));
      const Answer answer = network_.forward(scenes, Weights::of_matching);
      out.accuracy += share * answer.logits.argmax(1).eq(scenes.answers).to(at::kDouble).mean().item<double>();
      entropy.add(answer.entropy, share), weight.add(answer.matching, share);
      const auto [most, head] = at::cat(answer.matching, 1).max(1, true);
      out.best_weight += share * most.mean().item<double>();
      out.best_entropy += share * at::cat(answer.entropy, 1).gather(1, head).mean().item<double>();
    }
    out.entropy = entropy.numbers(), out.weight_of_matching = weight.numbers();
    return out;
  }

  // Networks with the same seed see the same scenes.
  std::uint64_t seed_of(Purpose purpose, std::initializer_list<std::int64_t> counts) const {
    std::uint64_t out = mix({seed_, static_cast<std::uint64_t>(purpose)});
    for (const std::int64_t count : counts) out = mix({out, static_cast<std::uint64_t>(count)});
    return out;
  }

  const Study study_;
  const std::uint64_t seed_;
  const at::Device device_;
  Network network_;
};

void check_matching(const char* name, std::int64_t matching, std::int64_t side) {
  if (matching < 1 || matching > side * side)
    throw Error(name, matching, "1 to the " + std::to_string(side * side) + " patches of an image");
}

}  // namespace

void check_study(const Study& study) {
  check(study.variants);
  require_at_least("side", study.side, 1);
  check_matching("max-matching", study.max_matching, study.side);
  if (study.matching.empty()) throw Error("matching", "none", "one or more");
  for (const std::int64_t matching : study.matching) check_matching("matching", matching, study.side);
  for (const std::int64_t side : study.sides) {
    require_at_least("sides", side, 1);
    check_matching("matching-of-sides", study.matching_of_sides, side);
  }
}

MakeLearner learners_of(const Study& study) {
  return [study](const Variant& variant) { return std::make_unique<Reader>(study, variant); };
}

}  // namespace isentropic::lab::grounding
