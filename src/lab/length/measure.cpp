// Evaluates networks at many lengths.
#include "lab/length/measure.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/mix.hpp"
#include "lab/autocast.hpp"
#include "model/parameters.hpp"

namespace isentropic::lab::length {
namespace {

constexpr std::int64_t kTokensAtOnce = 1 << 15;
constexpr std::int64_t kPassage = 32;  // tokens; the second half is scored

class SharedParameters : public model::ParameterSource {
 public:
  explicit SharedParameters(const model::Transformer& model) : model_(model) {}
  at::Tensor parameter(const std::string& name, at::IntArrayRef) override { return model_.parameters()[name]; }
  bool has(const std::string& name) const override { return model_.parameters().contains(name); }

 private:
  const model::Transformer& model_;
};

using TokenRows = std::vector<std::vector<std::int32_t>>;

at::Tensor ids_of(const TokenRows& rows, at::Device device) {
  const auto columns = static_cast<std::int64_t>(rows.front().size());
  at::Tensor out = at::empty({static_cast<std::int64_t>(rows.size()), columns}, at::kLong);
  auto* place = out.mutable_data_ptr<std::int64_t>();
  for (const auto& row : rows) place = std::ranges::copy(row, place).out;
  return out.to(device);
}

struct Evaluation {
  at::Tensor loss;     // mean over the last tokens, [documents]
  at::Tensor entropy;  // of their rows, [layers, heads], mean over documents; undefined unless requested
};

// rows: n + 1 tokens each, of which the last `scored` are predicted.
Evaluation evaluate(const model::Transformer& model, const Law& law, const Study& study, const TokenRows& rows,
                    std::int64_t scored, bool with_entropy) {
  const Autocast autocast(study.bfloat16);
  model::ForwardOptions options;
  options.attention = attention_of(law);
  if (with_entropy) options.statistics = Statistics::of({Statistic::entropy});
  const at::Tensor ids = ids_of(rows, model.device());
  const std::int64_t n = ids.size(1) - 1;
  const model::ForwardOutput out = model.forward(ids.narrow(1, 0, n), options);
  Evaluation found;
  found.loss =
      model.token_losses(out.hidden.narrow(1, n - scored, scored).contiguous(), ids.narrow(1, n + 1 - scored, scored))
          .to(at::kDouble)
          .mean(1);
  if (!with_entropy) return found;
  std::vector<at::Tensor> layers;
  for (const auto& layer : out.statistics)
    layers.push_back(layer.at("entropy").narrow(2, n - scored, scored).to(at::kDouble).mean(at::IntArrayRef({0, 2})));
  found.entropy = at::stack(layers);
  return found;
}

// From the middle, because documents begin alike.
auto passage_of(const std::vector<std::int32_t>& document) {
  return document.begin() + static_cast<std::ptrdiff_t>(document.size() - kPassage) / 2;
}

// A document's last n + 1 tokens, with the passage of `source` at a random position and that of `target` at the end.
std::vector<std::int32_t> with_passage(const std::vector<std::int32_t>& document,
                                       const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& target,
                                       std::int64_t n, std::uint64_t seed) {
  std::vector<std::int32_t> out(document.end() - (n + 1), document.end());
  const std::int64_t before = n + 1 - 2 * kPassage;
  const auto place = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(std::max<std::int64_t>(1, before)));
  std::copy_n(passage_of(source), kPassage, out.begin() + place);
  std::copy_n(passage_of(target), kPassage, out.end() - kPassage);
  return out;
}

double copying(const model::Transformer& model, const Law& law, const Study& study, const Documents& documents,
               std::int64_t n, std::int64_t first, std::int64_t count) {
  const auto total = documents.tests.size();
  TokenRows seen, unseen;
  for (std::int64_t i = first; i < first + count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto& target = documents.tests[(at + 1) % total];
    const std::uint64_t seed = mix({study.seed, at, static_cast<std::uint64_t>(n)});
    seen.push_back(with_passage(documents.tests[at], target, target, n, seed));
    unseen.push_back(with_passage(documents.tests[at], documents.tuning[at], target, n, seed));
  }
  const at::Tensor saved = evaluate(model, law, study, unseen, kPassage / 2, false).loss -
                           evaluate(model, law, study, seen, kPassage / 2, false).loss;
  return saved.sum().item<double>();
}

}  // namespace

model::Transformer network_for(const model::Transformer& trained, const Study& study, const Law& law, std::int64_t n) {
  SharedParameters parameters(trained);
  model::Description description = for_evaluation(trained.description(), study, law, n);
  // A ParameterSource does not provide learnt scales.
  if (description.learn_scale) description.scale_values = trained.scale_values();
  return model::Transformer(description, parameters);
}

Point measure(const model::Transformer& trained, const Study& study, const Law& law, const Documents& documents,
              std::int64_t n) {
  const at::NoGradGuard no_gradient;
  const model::Transformer model = network_for(trained, study, law, n);
  const auto total = static_cast<std::int64_t>(documents.tests.size());
  const std::int64_t at_once = std::max<std::int64_t>(1, std::min(total, kTokensAtOnce / n));
  Point out{.n = n};
  at::Tensor entropy;
  for (std::int64_t first = 0; first < total; first += at_once) {
    const std::int64_t count = std::min(at_once, total - first);
    TokenRows rows;
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto& document = documents.tests[static_cast<std::size_t>(i)];
      rows.emplace_back(document.end() - (n + 1), document.end());
    }
    const Evaluation found = evaluate(model, law, study, rows, study.scored, true);
    out.loss += found.loss.sum().item<double>();
    const at::Tensor weighted = found.entropy * static_cast<double>(count);
    entropy = entropy.defined() ? entropy + weighted : weighted;
    if (n >= 2 * kPassage) out.copying += copying(model, law, study, documents, n, first, count);
  }
  out.loss /= static_cast<double>(total), out.copying /= static_cast<double>(total);
  entropy = entropy / static_cast<double>(total);
  out.entropy = entropy.mean().item<double>();
  out.deviation = entropy.numel() > 1 ? entropy.std().item<double>() : 0;
  return out;
}

}  // namespace isentropic::lab::length
