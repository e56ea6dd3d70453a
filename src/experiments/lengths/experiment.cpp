// Plans how many contexts each length needs, measures all laws on them and collects the results.
#include "experiments/lengths/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "isentropic/error.hpp"

namespace isentropic::experiments::lengths {
namespace {

// Queries per key set: many where the numbers are shown, fewer where only slopes are.
constexpr std::int64_t kMainQueries = 96, kSideQueries = 32, kSolvedQueries = 16, kSolvedSets = 8;

// Independent key sets at length n. The number of rows is proportional to n^-1/2: for a cost of rows * n this minimises
// the error of a slope (up to the weights of the fit).
std::int64_t key_sets(std::int64_t n, Effort effort) {
  const double factor = effort == Effort::quick ? 0.5 : effort == Effort::thorough ? 4.0 : 1.0;
  const double longest = static_cast<double>(std::int64_t{1} << 17);
  return std::max<std::int64_t>(1, std::llround(factor * std::sqrt(longest / static_cast<double>(n))));
}

// The families and sizes to sweep, the main one first.
struct Job {
  Keys keys;
  std::int64_t d;
  std::int64_t queries;
  double cost;
};

std::vector<Job> jobs_of(const Options& options) {
  // A row with a bias costs a few times as much as one without.
  const std::int64_t share = (options.effort == Effort::quick ? 8 : 1) * (options.positions.is_bias() ? 3 : 1);
  const std::int64_t main = std::max<std::int64_t>(4, kMainQueries / share);
  const std::int64_t side = std::max<std::int64_t>(4, kSideQueries / share);
  const auto job = [](Keys keys, std::int64_t d, std::int64_t queries) {
    constexpr double kExponentials = 24;  // besides its product, a score costs about as much as 24 coordinates do
    return Job{keys, d, queries, static_cast<double>(queries) * (static_cast<double>(d) + kExponentials)};
  };
  std::vector<Job> jobs = {job(Keys::random, options.d, main)};
  for (const std::int64_t d : {16, 64, 128, 256})
    if (d != options.d) jobs.push_back(job(Keys::random, d, side));
  for (const Keys keys : {Keys::clustered, Keys::correlated}) jobs.push_back(job(keys, options.d, side));
  return jobs;
}

Curve finish(Law law, std::vector<Measurement> points, const std::vector<std::int64_t>& lengths) {
  std::vector<Estimate> without, with;
  for (const Measurement& point : points) {
    without.push_back(point.entropy);
    with.push_back(point.needle_entropy);
  }
  return {std::move(law), std::move(points), slope(lengths, without), slope(lengths, with)};
}

ContextShape shape_of(const Options& options, Keys keys, std::int64_t n, std::int64_t d, std::int64_t queries) {
  return {keys, options.positions, n, d, key_sets(n, options.effort), queries};
}

// One measurement per law. Laws that agree at this length are measured only once.
std::vector<Measurement> measure_laws(const ContextShape& shape, const std::vector<Law>& laws, std::uint64_t seed) {
  std::map<double, std::size_t> index;
  std::vector<double> lambdas;
  for (const Law& law : laws) {
    if (law.is_solved()) continue;
    const double lambda = law.lambda(shape.n, shape.d);
    if (index.try_emplace(lambda, lambdas.size()).second) lambdas.push_back(lambda);
  }
  const std::vector<Measurement> measured = measure(shape, lambdas, seed);
  // Solving takes several passes, and the resulting entropy hardly varies, so a few rows are enough.
  ContextShape few = shape;
  few.queries = std::min(shape.queries, kSolvedQueries);
  few.sets = std::min(shape.sets, kSolvedSets);
  std::vector<Measurement> out;
  for (const Law& law : laws)
    out.push_back(law.is_solved() ? measure_target(few, kTargetEntropy, seed)
                                  : measured[index.at(law.lambda(shape.n, shape.d))]);
  return out;
}

}  // namespace

const char* name(Effort effort) {
  constexpr const char* kNames[] = {"quick", "standard", "thorough"};
  return kNames[static_cast<int>(effort)];
}

std::vector<std::int64_t> experiment_lengths(Effort effort) {
  std::vector<std::int64_t> out;
  for (int power = 6; power <= (effort == Effort::quick ? 12 : 17); ++power) out.push_back(std::int64_t{1} << power);
  return out;
}

std::int64_t memory_needed(const Options& options) {
  std::int64_t most = 0;
  for (const Job& job : jobs_of(options))
    for (const std::int64_t n : experiment_lengths(options.effort))
      most = std::max(most, key_floats(shape_of(options, job.keys, n, job.d, job.queries)));
  constexpr std::int64_t kBesides = std::int64_t{32} << 20;  // rows, records, packed blocks
  return most * static_cast<std::int64_t>(sizeof(float)) + kBesides;
}

std::vector<Law> laws_of(const Options& options) {
  std::vector<Law> laws = laws_named(options.laws);
  if (options.positions.is_bias()) std::erase_if(laws, [](const Law& law) { return law.is_solved(); });
  if (laws.empty())
    throw Error("laws", "target_entropy alone",
                "at least one other law: with a position bias there is nothing to solve");
  return laws;
}

Sweep sweep(const Options& options, Keys keys, std::int64_t d, std::int64_t queries, const Progress& progress) {
  const std::vector<std::int64_t> lengths = experiment_lengths(options.effort);
  // The laws, then kappa log n/d for every kappa tried.
  std::vector<Law> laws = laws_of(options);
  const std::size_t named = laws.size();
  for (const double kappa : kappa_grid()) laws.push_back(log_n_law(kappa));

  Sweep out{keys, d, queries, {}, {}, {}};
  std::vector<std::vector<Measurement>> points(laws.size());
  double done = 0, all = 0;
  for (const std::int64_t n : lengths) all += static_cast<double>(n * key_sets(n, options.effort));
  for (const std::int64_t n : lengths) {
    const ContextShape shape = shape_of(options, keys, n, d, queries);
    const std::vector<Measurement> measured = measure_laws(shape, laws, options.seed);
    for (std::size_t i = 0; i < laws.size(); ++i) points[i].push_back(measured[i]);
    out.sets.push_back(shape.sets);
    done += static_cast<double>(n * shape.sets);
    if (progress) progress(done / all);
  }

  std::vector<Trial> tried;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    Curve curve = finish(laws[i], std::move(points[i]), lengths);
    if (i < named) {
      out.curves.push_back(std::move(curve));
    } else {
      tried.push_back({kappa_grid()[i - named], curve.slope});
    }
  }
  out.compensation = compensate(std::move(tried));
  return out;
}

Results run_experiment(const Options& options, const Progress& progress) {
  Results out{options, experiment_lengths(options.effort), {}};
  const std::vector<Job> jobs = jobs_of(options);
  double all = 0, done = 0;
  for (const Job& job : jobs) all += job.cost;
  for (const Job& job : jobs) {
    out.sweeps.push_back(sweep(options, job.keys, job.d, job.queries, [&](double share) {
      if (progress) progress((done + share * job.cost) / all);
    }));
    done += job.cost;
  }
  // The compensating law, measured like the others.
  Sweep& main = out.sweeps.front();
  if (main.compensation.is_clear()) {
    const Law law = log_n_law(main.compensation.zero->mean);
    std::vector<Measurement> points;
    for (const std::int64_t n : out.lengths)
      points.push_back(
          measure(shape_of(options, main.keys, n, main.d, main.queries), {law.lambda(n, main.d)}, options.seed)[0]);
    main.curves.push_back(finish(law, std::move(points), out.lengths));
  }
  return out;
}

}  // namespace isentropic::experiments::lengths
