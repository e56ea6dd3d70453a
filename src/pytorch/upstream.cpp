// Propagates gradients of derived statistics to L, H, E, V and the collision sum.
#include "pytorch/upstream.hpp"

#include <cmath>

#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/validate.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

Upstream::Upstream(const AttentionProblem& problem, const AttentionResult& forward,
                   const std::optional<at::Tensor>& output, const std::optional<at::Tensor>& statistics)
    : names_(StatisticsLayout(problem).differentiable),
      rows_(problem.query.shape.begin(), problem.query.shape.end() - 1),
      moments_(forward.rows.moments()) {
  if (output) output_ = with_contiguous_rows(*output);
  of_statistics_ = statistics && statistics->defined() && !names_.empty();
  const std::int64_t count = rows_[0] * rows_[1] * rows_[2];
  sink_.assign(static_cast<std::size_t>(rows_[1]), 0.0);
  if (!of_statistics_) return;
  if (moments_ < moments_for(available_statistics(problem)))
    throw Error("the forward pass that checkpointing repeated", "without the statistics whose gradient is wanted",
                "a backward pass inside of the same isentropic.collect(..., detach=False)");
  const at::Tensor all = statistics->to(at::kDouble).contiguous();
  const double* gradients = all.const_data_ptr<double>();
  for (std::int64_t r = 0; r < count; ++r) {
    const SoftmaxRecord<double> record = forward.rows.record(r);
    const std::int64_t head = r / rows_[2] % rows_[1];
    const double total = log_partition(with_sink(problem, head, record));
    double sink_mass = problem.sink ? std::exp((*problem.sink)[head] - total) : 0.0;
    const Row found = row(record, sink_mass, gradients + r, count);
    log_partition_.push_back(found.log_partition);
    entropy_.push_back(found.entropy);
    mean_score_.push_back(found.mean_score);
    score_variance_.push_back(found.score_variance);
    collision_.push_back(found.collision);
    sink_[static_cast<std::size_t>(head)] += found.sink;
  }
}

Upstream::Row Upstream::row(const SoftmaxRecord<double>& record, double sink_mass, const double* gradients,
                            std::int64_t stride) const {
  Row out;
  const auto k = static_cast<double>(record.k);
  for (std::size_t s = 0; s < names_.size(); ++s) {
    const double g = gradients[static_cast<std::int64_t>(s) * stride];
    if (g == 0) continue;
    switch (names_[s]) {
      case Statistic::log_partition:
        out.log_partition += g;
        break;
      case Statistic::entropy:
        out.entropy += g;
        break;
      case Statistic::mean_score:
        out.mean_score += g;
        break;
      case Statistic::score_variance:
        out.score_variance += g;
        break;
      case Statistic::collision:
        out.collision += g;
        break;
      case Statistic::normalised_entropy:
        if (record.k > 1) out.entropy += g / std::log(k);
        break;
      case Statistic::effective_keys:
        if (!record.empty()) out.entropy += g * std::exp(entropy(record));
        break;
      case Statistic::participation:
        if (!record.empty()) out.collision -= g / (collision(record) * collision(record));
        break;
      case Statistic::sparsity:
        if (!record.empty()) out.collision -= g / (2 * std::sqrt(k) * std::pow(collision(record), 1.5));
        break;
      default:  // sink_mass
        out.log_partition -= g * sink_mass;
        out.sink += g * sink_mass;
    }
  }
  return out;
}

AttentionUpstream Upstream::views() const {
  AttentionUpstream out;
  if (output_.defined()) out.output = view_of(output_, "gradient of the output");
  if (!of_statistics_) return out;
  const auto view = [&](const std::vector<double>& values) { return View(values.data(), rows_); };
  out.log_partition = view(log_partition_);
  if (moments_ >= MomentSet::entropy) out.entropy = view(entropy_), out.mean_score = view(mean_score_);
  if (moments_ >= MomentSet::all) out.score_variance = view(score_variance_), out.collision = view(collision_);
  return out;
}

at::Tensor Upstream::sink_share() const { return at::tensor(sink_, at::kDouble); }

}  // namespace isentropic::pytorch
