// Runs the estimate, its surrogates and its half-samples, and reports progress.
#include "experiments/mutual_information/findings.hpp"

#include <chrono>
#include <cmath>

namespace isentropic::experiments::mutual_information {
namespace {

using information::Table;

using Told = std::function<void(double)>;

// The work of the estimate, its surrogates and its half-samples, in units of a full-sample estimate.
class Work {
 public:
  Work(const Request& request, const Told& progress)
      : permutations_(request.permutations), halves_(.5 * request.halves), progress_(progress) {}

  void tell(double done) const {
    if (progress_) progress_(done / (1 + permutations_ + halves_));
  }
  Told permutations() const {
    return [this](double share) { tell(1 + share * permutations_); };
  }
  Told halves() const {
    return [this](double share) { tell(1 + permutations_ + share * halves_); };
  }

 private:
  double permutations_, halves_;
  const Told& progress_;
};

}  // namespace

Findings find(const Data& data, const Request& request, const Told& progress) {
  Findings out;
  const Table &x = data.x.table, &y = data.y.table, &z = data.given.table;
  const Work work(request, progress);
  if (y.columns > 0) {
    const information::InformationMeasure measure = [&](const Table& some_x, const Table& some_y, const Table& some_z) {
      return information::estimate_information(some_x, some_y, some_z, request.options);
    };
    const auto start = std::chrono::steady_clock::now();
    out.nats = measure(x, y, z);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    work.tell(1);
    out.warnings = information::information_warnings(x, y, z, request.options, *out.nats);
    if (std::isinf(*out.nats)) out.warnings.push_back("the estimate is infinite: y follows from x");
    if (request.permutations > 0)
      out.significance = information::permutation_significance(x, y, z, measure, request.permutations, request.seed,
                                                               work.permutations());
    if (request.halves > 0)
      out.interval =
          information::half_sample_interval(x, y, z, measure, request.halves, kLevel, request.seed, work.halves());
  }
  if (request.total_correlation)
    out.correlation = information::correlation_with_baselines(beside(x, y), request.options, request.seed);
  return out;
}

std::size_t memory_needed(const Data& data) {
  // Copies of the samples: scaled, side by side, in trees, permuted. Measured: 140 bytes a row for one column each.
  constexpr std::size_t kCopies = 9;
  const std::size_t columns = data.x.table.columns + data.y.table.columns + data.given.table.columns;
  return kCopies * sizeof(double) * columns * data.x.table.rows;
}

}  // namespace isentropic::experiments::mutual_information
