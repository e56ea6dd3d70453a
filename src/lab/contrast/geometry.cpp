// Measures embeddings on the unit sphere, and names the measures.
#include "lab/contrast/geometry.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/effective_rank.hpp"

namespace isentropic::lab::contrast {
namespace {

constexpr std::pair<const char*, double Geometry::*> kMeasures[] = {
    {"alignment", &Geometry::alignment},           {"uniformity", &Geometry::uniformity},
    {"effective_rank", &Geometry::effective_rank}, {"mean_cosine", &Geometry::mean_cosine},
    {"nearest_cosine", &Geometry::nearest_cosine}, {"hardest_share", &Geometry::hardest_share}};

}  // namespace

Geometry geometry_of(const at::Tensor& views, const at::Tensor& other_views, double temperature) {
  const at::NoGradGuard no_gradient;
  const at::Tensor x = views.to(at::kCPU, at::kDouble), y = other_views.to(at::kCPU, at::kDouble);
  const auto n = static_cast<double>(x.size(0));
  const at::Tensor self = at::eye(x.size(0), at::kBool), cosine = at::matmul(x, x.t());
  const at::Tensor others = cosine.masked_fill(self, -std::numeric_limits<double>::infinity());
  // For unit vectors, |x - y|^2 = 2 - 2 cos.
  const at::Tensor crowding = at::exp(-2 * (2 - 2 * cosine)).masked_fill(self, 0.0).sum() / (n * (n - 1));
  Geometry out;
  out.alignment = (x - y).square().sum(1).mean().item<double>();
  out.uniformity = crowding.log().item<double>();
  out.effective_rank = lab::effective_rank(x).item<double>();
  out.mean_cosine = (cosine.masked_fill(self, 0.0).sum() / (n * (n - 1))).item<double>();
  out.nearest_cosine = others.amax(1).mean().item<double>();
  out.hardest_share = at::softmax(others / temperature, 1).amax(1).mean().item<double>();
  return out;
}

void add_to(nlohmann::ordered_json& json, const Geometry& geometry) {
  for (const auto& [name, measure] : kMeasures) json[name] = geometry.*measure;
}

Geometry geometry_from(const nlohmann::ordered_json& json) {
  Geometry out;
  for (const auto& [name, measure] : kMeasures) out.*measure = json.at(name);
  return out;
}

}  // namespace isentropic::lab::contrast
