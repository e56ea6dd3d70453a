// Builds the networks and runs them forward.
#include "lab/plane/networks.hpp"

#include <cmath>

#include "base/mix.hpp"
#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/pytorch/attention.hpp"

namespace isentropic::lab {
namespace {

constexpr std::int64_t kWidth = 8;  // of a token

double cut_normal(Random& random) {
  double out = random.normal();
  while (std::abs(out) > 2) out = random.normal();
  return out;
}

class LayersInARow final : public PlaneNetwork {
 public:
  LayersInARow(const PlaneNetworkOptions& options, std::int64_t features, std::int64_t classes)
      : PlaneNetwork(options) {
    std::int64_t width = features;
    for (const std::string& name : layer_names()) {
      const std::int64_t next = options.layers[parameters_.size() / 2];
      add_weight(name, width, next), add_bias(name, next);
      width = next;
    }
    add_weight("readout", width, classes), add_bias("readout", classes);
  }

  at::Tensor logits(const at::Tensor& x, const VisitLayer& visit) const override {
    at::Tensor layer = x.unsqueeze(0).expand({options_.seeds, -1, -1});
    for (const std::string& name : layer_names()) layer = visit(name, activated(linear(name, layer)));
    return linear("readout", layer);
  }

  std::vector<std::string> layer_names() const override {
    std::vector<std::string> out;
    for (std::size_t l = 1; l <= options_.layers.size(); ++l) out.push_back("layer " + std::to_string(l));
    return out;
  }
};

class AttentionBlocks final : public PlaneNetwork {
 public:
  AttentionBlocks(const PlaneNetworkOptions& options, std::int64_t features, std::int64_t classes)
      : PlaneNetwork(options), tokens_(features) {
    add_weight("value of a token", tokens_, kWidth), add_weight("place of a token", tokens_, kWidth);
    for (std::int64_t b = 1; b <= options.blocks; ++b) {
      for (const char* matrix : {" query", " key", " value", " output"}) add_linear(block(b) + matrix, kWidth, kWidth);
      add_linear(block(b) + " in", kWidth, 2 * kWidth), add_linear(block(b) + " out", 2 * kWidth, kWidth);
    }
    add_linear("readout", kWidth, classes);
  }

  at::Tensor logits(const at::Tensor& x, const VisitLayer& visit) const override {
    const auto of = [&](const char* name) {
      return parameters_[std::string(name) + ".weight"].to(x.scalar_type()).unsqueeze(1);
    };
    at::Tensor tokens = of("value of a token") * x.view({1, -1, tokens_, 1}) + of("place of a token");
    const auto look = [&](const std::string& name) { tokens = visit(name, tokens.flatten(2)).view(tokens.sizes()); };
    look("embedding");
    for (std::int64_t b = 1; b <= options_.blocks; ++b) {
      tokens = tokens + attended(block(b), tokens);
      look(block(b) + " attention");
      tokens = tokens + linear(block(b) + " out", activated(linear(block(b) + " in", tokens)));
      look(block(b));
    }
    return linear("readout", visit("mean of tokens", tokens.mean(2)));
  }

  std::vector<std::string> layer_names() const override {
    std::vector<std::string> out = {"embedding"};
    for (std::int64_t b = 1; b <= options_.blocks; ++b) out.push_back(block(b) + " attention"), out.push_back(block(b));
    out.emplace_back("mean of tokens");
    return out;
  }

 private:
  static std::string block(std::int64_t number) { return "block " + std::to_string(number); }
  void add_linear(const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    add_weight(name, inputs, outputs), add_bias(name, outputs);
  }
  at::Tensor attended(const std::string& block, const at::Tensor& tokens) const {
    const auto projected = [&](const char* matrix) {
      return linear(block + matrix, tokens).flatten(0, 1).unsqueeze(1).contiguous();
    };
    pytorch::AttentionOptions options;
    if (options_.top_k > 0) options.map = ScoreMap::top_k(std::min(options_.top_k, tokens_));
    const at::Tensor out =
        pytorch::attention(projected(" query"), projected(" key"), projected(" value"), options).output;
    return linear(block + " output", out.view(tokens.sizes()));
  }

  std::int64_t tokens_;
};

}  // namespace

void PlaneNetwork::add_weight(const std::string& name, std::int64_t inputs, std::int64_t outputs) {
  at::Tensor out = at::empty({options_.seeds, inputs, outputs}, at::kFloat);
  const double deviation = 1 / std::sqrt(static_cast<double>(inputs));
  auto* numbers = out.mutable_data_ptr<float>();
  for (std::int64_t s = 0; s < options_.seeds; ++s) {
    Random random(mix({options_.seed, static_cast<std::uint64_t>(s), parameters_.size()}));
    for (std::int64_t i = 0; i < inputs * outputs; ++i) *numbers++ = static_cast<float>(deviation * cut_normal(random));
  }
  parameters_.insert(name + ".weight", out);
}

void PlaneNetwork::add_bias(const std::string& name, std::int64_t outputs) {
  parameters_.insert(name + ".bias", at::zeros({options_.seeds, 1, outputs}, at::kFloat));
}

void PlaneNetwork::move_to(at::Device device) {
  for (auto& item : parameters_) item.value() = item.value().to(device);
}

at::Tensor PlaneNetwork::linear(const std::string& name, const at::Tensor& x) const {
  const at::Tensor weight = parameters_[name + ".weight"].to(x.scalar_type());
  const at::Tensor bias = parameters_[name + ".bias"].to(x.scalar_type());
  if (x.dim() == 3) return at::baddbmm(bias, x, weight);
  return at::baddbmm(bias, x.flatten(1, 2), weight).view({x.size(0), x.size(1), x.size(2), weight.size(2)});
}

at::Tensor PlaneNetwork::activated(const at::Tensor& x) const {
  if (options_.activation == "tanh") return x.tanh();
  return options_.activation == "relu" ? x.relu() : x;
}

std::unique_ptr<PlaneNetwork> plane_network(const PlaneNetworkOptions& options, std::int64_t features,
                                            std::int64_t classes) {
  if (options.activation != "tanh" && options.activation != "relu" && options.activation != "linear")
    throw Error("activation", "'" + options.activation + "'", "tanh, relu or linear");
  if (options.network == "attention") return std::make_unique<AttentionBlocks>(options, features, classes);
  if (options.network != "mlp") throw Error("network", "'" + options.network + "'", "mlp or attention");
  return std::make_unique<LayersInARow>(options, features, classes);
}

}  // namespace isentropic::lab
