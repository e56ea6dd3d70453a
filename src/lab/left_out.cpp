// Compares log-partitions and outputs row by row.
#include "lab/left_out.hpp"

#include <algorithm>

#include "isentropic/theory/top_k.hpp"
#include "lab/numbers.hpp"

namespace isentropic::lab {
namespace {

// [batch, heads, n]: lambda of every row, for laws that depend on the number of visible keys. Once fixed, it does not
// change with other masks.
at::Tensor row_scales(const pytorch::AttentionOptions& options, const at::Tensor& visible, std::int64_t d) {
  Scale law = options.scale;
  for (const auto& [name, values] : options.scale_parameters) {
    const auto place = std::ranges::find(law.law().parameters, name, &Parameter::name);
    law = law.with_parameter(static_cast<std::size_t>(place - law.law().parameters.begin()), numbers_of(values));
  }
  const at::Tensor counts = visible.to(at::kCPU, at::kLong).contiguous();
  at::Tensor out = at::empty(counts.sizes(), at::kFloat);
  const auto* count = counts.const_data_ptr<std::int64_t>();
  auto* lambda = out.mutable_data_ptr<float>();
  const std::int64_t heads = counts.size(1), n = counts.size(2);
  for (std::int64_t i = 0; i < counts.numel(); ++i)
    lambda[i] = static_cast<float>(law.lambda({.visible = count[i], .d = d, .position = i % n, .head = i / n % heads}));
  return out.to(visible.device());
}

// [kv_heads]: the largest distance of a value from the mean value, or from 0 if there is a sink, which has value 0.
at::Tensor radius_of(const at::Tensor& value, bool has_sink) {
  const at::Tensor all = value[0].to(at::kFloat);
  const at::Tensor centred = has_sink ? all : all - all.mean(1, /*keepdim=*/true);
  return centred.norm(2, -1).amax(1);
}

at::Tensor row_norms(const at::Tensor& output) { return output[0].to(at::kFloat).norm(2, -1); }

}  // namespace

bool leaves_out(const AttentionChange& change) {
  return change.mask || (change.map && change.map->kind() == ScoreMap::Kind::top_k);
}

pytorch::AttentionOutput LeftOutTally::operator()(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                                  const at::Tensor& value, const pytorch::AttentionOptions& options) {
  pytorch::AttentionOptions own = options;
  if (own.map.kind() != ScoreMap::Kind::softmax || own.scale.is_target_entropy())
    return pytorch::attention(query, key, value, options);
  own.statistics = Statistics::of({Statistic::log_partition, Statistic::visible});
  const pytorch::AttentionOutput full = pytorch::attention(query, key, value, own);
  if (own.scale.looks_at_n()) {
    const at::Tensor rows = row_scales(own, full.statistics.at("visible"), query.size(3));
    own.scale = Scale::per_row({});
    own.scale_parameters = {{"rows", rows}};
  }
  const std::vector<double> norms = numbers_of(row_norms(full.output).sum(1));
  const std::vector<double> radii = numbers_of(radius_of(value, own.sink.defined()));
  const auto n = static_cast<double>(query.size(2));
  for (const AttentionChange* change : changes_) {
    const pytorch::AttentionOutput part = attend(query, key, value, change->of(layer, own));
    const at::Tensor kept = part.statistics.at("log_partition")[0] - full.statistics.at("log_partition")[0];
    const std::vector<double> missing = numbers_of((-at::expm1(kept.to(at::kDouble))).clamp_min(0).sum(1));
    const std::vector<double> errors = numbers_of(row_norms(full.output - part.output).sum(1));
    auto& layers = found_[change];
    if (layers.size() <= layer) layers.resize(layer + 1, std::vector<LeftOut>(missing.size()));
    const std::size_t group = missing.size() / radii.size();
    for (std::size_t head = 0; head < missing.size(); ++head) {
      LeftOut& sums = layers[layer][head];
      sums.rows += n;
      sums.missing_mass += missing[head];
      sums.error += errors[head];
      sums.error_bound += theory::top_k_output_bound(missing[head], radii[head / group]);
      sums.output += norms[head];
    }
  }
  return full;
}

}  // namespace isentropic::lab
