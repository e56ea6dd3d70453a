// Draws sequences, trains networks to reverse them, and measures their attention.
#include "lab/seq2seq/study.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "base/mix.hpp"
#include "lab/layer_means.hpp"
#include "lab/seq2seq/network.hpp"
#include "model/names.hpp"

namespace isentropic::lab::seq2seq {
namespace {

enum class Purpose : std::uint8_t { training, test };

struct Sequences {
  at::Tensor source, written, targets;  // [batch, n + 1]
};

// Tokens are the symbols 0, 1, ..., then the end mark and the start mark.
Sequences draw(std::int64_t batch, std::int64_t n, std::int64_t symbols, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor sequence = at::randint(0, symbols, {batch, n}, generator, at::kLong);
  const at::Tensor end = at::full({batch, 1}, symbols, at::kLong), reversed = sequence.flip(1);
  return {at::cat({sequence, end}, 1), at::cat({end + 1, reversed}, 1), at::cat({reversed, end}, 1)};
}

// Means for one kind of attention.
struct EntropyMeans {
  LayerMeans entropy, normalised;

  void add(const LayersOfStatistics& layers, double weight) {
    entropy.add(layers.entropy, weight), normalised.add(layers.normalised, weight);
  }
  AttentionEntropy numbers() const { return {entropy.numbers(), normalised.numbers()}; }
};

class Reverser final : public Learner {
 public:
  Reverser(const Study& study, const Variant& variant)
      : study_(study),
        seed_(variant.seed),
        device_(model::device_named("device", study.variants.device)),
        network_({.attention = attention_of(study.variants, variant),
                  .layers = study.variants.layers,
                  .tokens = study.symbols + 2,
                  .source_positions_from = positions_from_named(study.positions_from)},
                 variant.seed) {
    network_.to(device_);
  }

  torch::nn::Module& network() override { return network_; }

  at::Tensor loss(std::int64_t step) override {
    const std::uint64_t seed = seed_of(Purpose::training, step);
    const std::int64_t n = 1 + static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(study_.length));
    const Sequences batch = draw(study_.variants.batch, n, study_.symbols, mix(seed));
    const Answer answer = network_.forward(batch.source.to(device_), batch.written.to(device_));
    return at::cross_entropy_loss(answer.logits.flatten(0, 1), batch.targets.to(device_).flatten());
  }

  nlohmann::ordered_json measure() override { return to_list({study_.length}); }
  nlohmann::ordered_json test() override { return to_list(study_.lengths); }

 private:
  nlohmann::ordered_json to_list(const std::vector<std::int64_t>& lengths) {
    std::vector<Measured> out;
    for (const std::int64_t n : lengths) out.push_back(measured_at(n));
    return options_to_json(out);
  }

  Measured measured_at(std::int64_t n) {
    Measured out{.n = n};
    EntropyMeans encoder, decoder, cross;
    const std::int64_t examples = study_.variants.examples;
    for (std::int64_t done = 0; done < examples; done += study_.variants.batch) {
      const std::int64_t count = std::min(examples - done, study_.variants.batch);
      const double share = static_cast<double>(count) / static_cast<double>(examples);
      const Sequences batch = draw(count, n, study_.symbols, seed_of(Purpose::test, n * examples + done));
      const Answer answer = network_.forward(batch.source.to(device_), batch.written.to(device_));
      const at::Tensor right = answer.logits.argmax(2).eq(batch.targets.to(device_)).to(at::kDouble);
      out.symbols_right += share * right.mean().item<double>();
      out.sequences_right += share * right.amin(1).mean().item<double>();
      encoder.add(answer.encoder, share), decoder.add(answer.decoder, share), cross.add(answer.cross, share);
    }
    out.encoder = encoder.numbers(), out.decoder = decoder.numbers(), out.cross = cross.numbers();
    return out;
  }

  // Networks with the same seed see the same sequences.
  std::uint64_t seed_of(Purpose purpose, std::int64_t count) const {
    return mix({seed_, static_cast<std::uint64_t>(purpose), static_cast<std::uint64_t>(count)});
  }

  const Study study_;
  const std::uint64_t seed_;
  const at::Device device_;
  Network network_;
};

}  // namespace

void check_study(const Study& study) {
  check(study.variants);
  positions_from_named(study.positions_from);
  require_at_least("length", study.length, 1);
  require_at_least("symbols", study.symbols, 2);
  if (study.lengths.empty()) throw Error("lengths", "none", "one or more");
  for (const std::int64_t n : study.lengths) require_at_least("length of a test", n, 1);
}

MakeLearner learners_of(const Study& study) {
  return [study](const Variant& variant) { return std::make_unique<Reverser>(study, variant); };
}

}  // namespace isentropic::lab::seq2seq
