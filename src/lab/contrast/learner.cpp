// Draws pairs and views, and trains a critic on them.
#include "lab/contrast/learner.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "lab/random_streams.hpp"
#include "model/names.hpp"

namespace isentropic::lab::contrast {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPairRate = 1e-3, kViewRate = 3e-3;
constexpr std::int64_t kInstances = 32, kPointWidth = 16, kEmbeddingWidth = 8;
constexpr std::int64_t kBlocksOfStair = 40;
constexpr double kViewNoise = 0.1;  // standard deviation; the points' coordinates have variance 1

enum Stream : std::uint64_t { kParameters = 1, kFirstSide, kSecondSide, kPoints, kViews, kOtherViews };

CriticOptions critic_options(const Options& options, const Part& part) {
  if (part.critic.empty())
    return {.kind = CriticKind::cosine,
            .one_tower = true,
            .inputs = kPointWidth,
            .hidden = 64,
            .outputs = kEmbeddingWidth,
            .temperature = part.temperature};
  return {.kind = critic_named(part.critic),
          .inputs = options.dimension,
          .outputs = options.dimension + 12,
          .learn_temperature = true};
}

}  // namespace

std::vector<Part> parts_of(const Options& options) {
  std::vector<Part> out;
  for (const std::string& critic : options.critics)
    for (const std::int64_t batch : options.batches)
      out.push_back({.critic = critic, .batch = batch, .steps = options.steps});
  for (const double temperature : options.temperatures)
    out.push_back({.batch = kInstances, .temperature = temperature, .steps = options.view_steps});
  return out;
}

Learner::Learner(const Options& options, Part part)
    : options_(options), part_(std::move(part)), device_(model::device_named("device", options.device)) {
  at::manual_seed(stream(options.seed, kParameters));
  critic_ = std::make_shared<Critic>(critic_options(options, part_));
  critic_->to(device_);
  optimiser_ = std::make_unique<AdamW>(critic_->named_parameters(), AdamWOptions{.beta2 = 0.999, .weight_decay = 0});
}

std::int64_t Learner::stairs() const { return part_.critic.empty() ? 1 : std::ssize(options_.information); }

// Blocks do not cross stairs: every stair begins with a new block.
std::int64_t Learner::block(std::int64_t step) const { return step * kBlocksOfStair * stairs() / part_.steps; }

Learner::Step Learner::step() {
  Json line = place();
  const pytorch::Loss found = part_.critic.empty() ? learn_views() : learn_pairs(line["information"]);
  const float loss = found.loss.item<float>(), bound = found.bound.item<float>();
  auto* block = block_.mutable_data_ptr<float>();
  block[3] = block[0] == 0 ? bound : std::max(block[3], bound);
  block[0] += 1, block[1] += loss, block[2] += bound;
  line.update({{"steps", static_cast<std::int64_t>(block[0])},
               {"loss", block[1] / block[0]},
               {"bound", block[2] / block[0]},
               {"highest_bound", block[3]},
               {"ceiling", found.ceiling.item<double>()}});
  const bool ends_block = this->block(done_) > this->block(done_ - 1);
  if (ends_block) block_.zero_();
  if (part_.critic.empty() && done_ == part_.steps) add_to(line, geometry());
  return {std::move(line), ends_block};
}

Json Learner::place() const {
  if (part_.critic.empty()) return {{"part", "views"}, {"temperature", part_.temperature}};
  const std::int64_t stair = done_ * stairs() / part_.steps;
  return {{"part", "information"},
          {"critic", part_.critic},
          {"batch", part_.batch},
          {"stair", stair},
          {"information", options_.information[static_cast<std::size_t>(stair)]}};
}

pytorch::Loss Learner::learn(const at::Tensor& x, const at::Tensor& y, double rate) {
  pytorch::Loss found = critic_->loss(x.to(device_), y.to(device_));
  if (!std::isfinite(found.loss.item<double>()))
    throw Error("loss", "not finite at step " + std::to_string(done_ + 1), "a finite one");
  optimiser_->zero_gradients();
  found.loss.backward();
  optimiser_->clip_gradients(1.0);
  optimiser_->step(rate);
  ++done_;
  return found;
}

pytorch::Loss Learner::learn_pairs(double information) {
  const double d = static_cast<double>(options_.dimension);
  const double rho = std::sqrt(-std::expm1(-2 * information / d));
  const std::int64_t sizes[] = {part_.batch, options_.dimension};
  const at::Tensor x = normals(stream(options_.seed, kFirstSide), done_, sizes);
  const at::Tensor noise = normals(stream(options_.seed, kSecondSide), done_, sizes);
  const at::Tensor y = rho * x + std::exp(-information / d) * noise;  // sqrt(1 - rho^2) = e^{-I/d}
  return learn(x, y, kPairRate);
}

at::Tensor Learner::noisy_views(std::uint64_t stream_number, std::int64_t step) const {
  const std::int64_t sizes[] = {kInstances, kPointWidth};
  return normals(stream(options_.seed, kPoints), 0, sizes) +
         kViewNoise * normals(stream(options_.seed, stream_number), step, sizes);
}

pytorch::Loss Learner::learn_views() {
  const double rate = learning_rate(kViewRate, done_, 0, part_.steps, 0.01);
  return learn(noisy_views(kViews, done_), noisy_views(kOtherViews, done_), rate);
}

// On views that it was not trained on.
Geometry Learner::geometry() const {
  const at::NoGradGuard no_gradient;
  const at::Tensor views = critic_->embed(noisy_views(kViews, done_).to(device_));
  const at::Tensor others = critic_->embed(noisy_views(kOtherViews, done_).to(device_));
  return geometry_of(views, others, part_.temperature);
}

NamedTensors Learner::state() const {
  NamedTensors out;
  for (const auto& item : critic_->named_parameters()) out.emplace_back(item.key(), item.value());
  for (const auto& item : optimiser_->moments()) out.emplace_back(item.key(), item.value());
  out.emplace_back("block", block_);
  return out;
}

void Learner::set_steps(std::int64_t steps) {
  done_ = steps;
  optimiser_->set_steps(steps);
}

}  // namespace isentropic::lab::contrast
