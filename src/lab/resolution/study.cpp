// Trains image classifiers and evaluates them at other resolutions.
#include "lab/resolution/study.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "base/mix.hpp"
#include "lab/image_data.hpp"
#include "lab/layer_means.hpp"
#include "lab/resolution/network.hpp"
#include "model/names.hpp"

namespace isentropic::lab::resolution {
namespace {

constexpr std::int64_t kMostPixels = 128 * 128;

enum class Purpose : std::uint64_t { training, test };

// Images on a device, pixels in [0, 1].
struct Images {
  ImageSet train, test;  // test: at most `examples`, drawn from the seed of the study
  std::int64_t classes = 0;
};

ImageSet on_device(const ImageSet& set, const at::Tensor& chosen, at::Device device) {
  const at::Tensor pixels = chosen.defined() ? set.pixels.index_select(0, chosen) : set.pixels;
  const at::Tensor labels = chosen.defined() ? set.labels.index_select(0, chosen) : set.labels;
  return {pixels.to(device).to(at::kFloat).div_(255), labels.to(device)};
}

Images images_of(const Study& study, const ImageData& data) {
  const at::Device device = model::device_named("device", study.variants.device);
  const std::int64_t count = data.test.labels.size(0);
  at::Generator generator =
      at::detail::createCPUGenerator(mix({study.variants.seed, static_cast<std::uint64_t>(Purpose::test)}));
  const at::Tensor chosen =
      at::randperm(count, generator, at::kLong).narrow(0, 0, std::min(count, study.variants.examples));
  return {on_device(data.train, {}, device), on_device(data.test, chosen, device), data.classes};
}

class Classifier final : public Learner {
 public:
  Classifier(const Study& study, const Variant& variant, std::shared_ptr<const Images> images)
      : study_(study),
        seed_(variant.seed),
        images_(std::move(images)),
        network_({.attention = attention_of(study.variants, variant),
                  .layers = study.variants.layers,
                  .patch = study.patch,
                  .classes = images_->classes,
                  .side = std::min(images_->train.pixels.size(1), images_->train.pixels.size(2)) / study.patch},
                 variant.seed) {
    network_.to(images_->train.pixels.device());
  }

  torch::nn::Module& network() override { return network_; }

  // Networks with the same seed see the same images.
  at::Tensor loss(std::int64_t step) override {
    at::Generator generator = at::detail::createCPUGenerator(
        mix({seed_, static_cast<std::uint64_t>(Purpose::training), static_cast<std::uint64_t>(step)}));
    const at::Tensor chosen =
        at::randint(0, images_->train.labels.size(0), {study_.variants.batch}, generator, at::kLong)
            .to(images_->train.labels.device());
    const Answer answer = network_.forward(images_->train.pixels.index_select(0, chosen));
    return at::cross_entropy_loss(answer.logits, images_->train.labels.index_select(0, chosen));
  }

  nlohmann::ordered_json measure() override { return options_to_json(std::vector{measured_at(1)}); }

  nlohmann::ordered_json test() override {
    std::vector<Measured> out;
    for (const std::int64_t factor : study_.factors) out.push_back(measured_at(factor));
    return options_to_json(out);
  }

 private:
  Measured measured_at(std::int64_t factor) {
    const ImageSet& test = images_->test;
    const std::int64_t count = test.labels.size(0), scale = factor * factor;
    Measured out{.factor = factor,
                 .patches = scale * test.pixels.size(1) * test.pixels.size(2) / (study_.patch * study_.patch)};
    LayerMeans entropy, normalised;
    for (std::int64_t done = 0; done < count; done += study_.variants.batch) {
      const std::int64_t some = std::min(count - done, study_.variants.batch);
      const double share = static_cast<double>(some) / static_cast<double>(count);
      const Answer answer = network_.forward(enlarged(test.pixels.narrow(0, done, some), factor));
      const at::Tensor right = answer.logits.argmax(1).eq(test.labels.narrow(0, done, some));
      out.accuracy += share * right.to(at::kDouble).mean().item<double>();
      entropy.add(answer.entropy, share), normalised.add(answer.normalised, share);
    }
    out.entropy = entropy.numbers(), out.normalised = normalised.numbers();
    return out;
  }

  const Study study_;
  const std::uint64_t seed_;
  const std::shared_ptr<const Images> images_;
  Network network_;
};

}  // namespace

void check_study(const Study& study) {
  check(study.variants);
  if (study.data.empty()) throw Error("data", "not given", "a folder of IDX files");
  require_at_least("patch", study.patch, 1);
  if (study.factors.empty()) throw Error("factors", "none", "one or more");
  for (const std::int64_t factor : study.factors) require_at_least("factor", factor, 1);
}

MakeLearner learners_of(Study& study) {
  const ImageData data = read_image_data(study.data, kMostPixels);
  if (study.checksum != 0 && study.checksum != data.checksum)
    throw Error(study.data, "not what it was when the study began", "the same files");
  study.checksum = data.checksum;
  for (const std::int64_t side : {data.train.pixels.size(1), data.train.pixels.size(2)})
    if (side % study.patch != 0)
      throw Error("patch", study.patch, "a divisor of the images' " + std::to_string(side) + " pixels");
  const auto images = std::make_shared<const Images>(images_of(study, data));
  return [study, images](const Variant& variant) { return std::make_unique<Classifier>(study, variant, images); };
}

}  // namespace isentropic::lab::resolution
