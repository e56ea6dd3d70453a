// The shared search of all nearest-neighbour estimators: radii in the joint space, counts in the marginals.
#include "information/neighbourhoods.hpp"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "information/point_tree.hpp"

namespace isentropic::information {
namespace {

// The points restricted to some columns, for counting.
class Marginal {
 public:
  Marginal(const Table& samples, std::vector<std::size_t> columns) : columns_(std::move(columns)) {
    Table part(samples.rows, columns_.size());
    for (std::size_t r = 0; r < samples.rows; ++r)
      for (std::size_t c = 0; c < columns_.size(); ++c) part(r, c) = samples(r, columns_[c]);
    if (columns_.size() == 1) {
      sorted_ = std::make_unique<SortedColumn>(std::move(part.values));
    } else {
      tree_ = std::make_unique<PointTree>(part);
    }
  }

  std::size_t size() const { return columns_.size(); }

  // The number of other points around `point`, which has all columns; `scratch` has room for 2 * size() numbers.
  std::size_t others(const double* point, const double* radii, Closeness closeness, double* scratch) const {
    if (sorted_) {
      const double radius = radii[columns_[0]];
      return without_self(sorted_->count(point[columns_[0]], radius, closeness), radius, closeness);
    }
    double* const here = scratch;
    double* const within = scratch + columns_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      here[c] = point[columns_[c]];
      within[c] = radii[columns_[c]];
      least = std::min(least, within[c]);
    }
    return without_self(tree_->count(here, within, closeness), least, closeness);
  }

 private:
  // The count includes the point itself, unless the radius is 0 and the comparison strict.
  static std::size_t without_self(std::size_t count, double radius, Closeness closeness) {
    return closeness == Closeness::nearer_or_equal || radius > 0 ? count - 1 : 0;
  }

  std::vector<std::size_t> columns_;
  std::unique_ptr<SortedColumn> sorted_;
  std::unique_ptr<PointTree> tree_;
};

// The columns of each marginal.
std::vector<std::vector<std::size_t>> marginal_columns(const NeighbourhoodQuestion& question) {
  std::vector<std::size_t> first = {0};
  for (std::size_t count : question.columns_of) first.push_back(first.back() + count);
  std::vector<std::vector<std::size_t>> out;
  for (const auto& variables : question.marginals) {
    out.emplace_back();
    for (std::size_t v : variables)
      for (std::size_t c = first[v]; c < first[v + 1]; ++c) out.back().push_back(c);
  }
  return out;
}

// The search structures, built in parallel.
struct Searched {
  std::vector<std::optional<Marginal>> marginals;
  std::optional<PointTree> tree;

  Searched(const NeighbourhoodQuestion& question, Executor& executor) : marginals(question.marginals.size()) {
    const auto columns = marginal_columns(question);
    executor.parallel_for(static_cast<std::int64_t>(columns.size() + 1), [&](std::int64_t begin, std::int64_t end) {
      for (auto task = static_cast<std::size_t>(begin); task < static_cast<std::size_t>(end); ++task) {
        if (task < columns.size()) {
          marginals[task].emplace(question.samples, columns[task]);
        } else {
          tree.emplace(question.samples);
        }
      }
    });
  }
};

// Half the sides of the box, one per column.
void find_radii(const NeighbourhoodQuestion& question, const PointTree& tree, std::size_t position,
                const std::vector<Neighbour>& neighbours, double rounding, std::vector<double>* radii) {
  if (question.neighbourhood != Neighbourhood::box) {
    std::fill(radii->begin(), radii->end(), neighbours.back().distance + rounding);
    return;
  }
  std::size_t first = 0;
  for (std::size_t columns : question.columns_of) {
    double largest = 0;
    for (const Neighbour& neighbour : neighbours)
      for (std::size_t c = first; c < first + columns; ++c)
        largest = std::max(largest, std::abs(tree.point_at(neighbour.position)[c] - tree.point_at(position)[c]));
    std::fill_n(radii->begin() + static_cast<std::ptrdiff_t>(first), columns, largest);
    first += columns;
  }
}

// Calls work(begin, end) over all points, in blocks, so that search buffers are not reallocated for every point.
template <class Work>
void for_blocks(std::size_t points, Executor& executor, const Work& work) {
  constexpr std::size_t kPoints = 256;
  const auto blocks = static_cast<std::int64_t>((points + kPoints - 1) / kPoints);
  executor.parallel_for(blocks, [&](std::int64_t begin, std::int64_t end) {
    work(static_cast<std::size_t>(begin) * kPoints, std::min(static_cast<std::size_t>(end) * kPoints, points));
  });
}

}  // namespace

DigammaTable::DigammaTable(std::size_t largest) : values_(largest + 1) {
  constexpr std::size_t kAnchor = 1024;  // recomputed at intervals so that rounding does not accumulate
  for (std::size_t n = 1; n <= largest; ++n)
    values_[n] = n % kAnchor == 1 ? boost::math::digamma(static_cast<double>(n))
                                  : values_[n - 1] + 1 / static_cast<double>(n - 1);
}

double mean_over_neighbourhoods(const NeighbourhoodQuestion& question, const NeighbourhoodTerm& term,
                                Executor& executor) {
  const Searched searched(question, executor);
  const PointTree& tree = *searched.tree;
  const auto& marginals = searched.marginals;
  std::size_t scratch_size = 0;
  for (const auto& marginal : marginals) scratch_size = std::max(scratch_size, 2 * marginal->size());
  const bool open = question.neighbourhood == Neighbourhood::open_cube;
  const Closeness closeness = open ? Closeness::nearer : Closeness::nearer_or_equal;
  const double rounding =
      question.neighbourhood == Neighbourhood::closed_cube ? rounding_of_distances(question.samples) : 0;
  std::vector<double> terms(tree.size());
  for_blocks(tree.size(), executor, [&](std::size_t begin, std::size_t end) {
    std::vector<Neighbour> neighbours(static_cast<std::size_t>(question.k));
    std::vector<double> radii(question.samples.columns), scratch(scratch_size);
    std::vector<std::size_t> counts(marginals.size());
    for (std::size_t position = begin; position < end; ++position) {
      tree.nearest(position, question.k, neighbours.data());
      find_radii(question, tree, position, neighbours, rounding, &radii);
      for (std::size_t m = 0; m < marginals.size(); ++m)
        counts[m] = marginals[m]->others(tree.point_at(position), radii.data(), closeness, scratch.data());
      terms[position] = term(counts.data());
    }
  });
  // Summed in a fixed order, whatever the threads did.
  return std::accumulate(terms.begin(), terms.end(), 0.0) / static_cast<double>(terms.size());
}

std::vector<double> neighbour_distances(const Table& samples, int k, Executor& executor) {
  const PointTree tree(samples);
  std::vector<double> out(tree.size());
  for_blocks(tree.size(), executor, [&](std::size_t begin, std::size_t end) {
    std::vector<Neighbour> neighbours(static_cast<std::size_t>(k));
    for (std::size_t position = begin; position < end; ++position) {
      tree.nearest(position, k, neighbours.data());
      out[tree.row_at(position)] = neighbours.back().distance;
    }
  });
  return out;
}

std::vector<std::size_t> others_within(const Table& samples, const std::vector<double>& radii, Executor& executor) {
  const PointTree tree(samples);
  std::vector<std::size_t> out(tree.size());
  for_blocks(tree.size(), executor, [&](std::size_t begin, std::size_t end) {
    std::vector<double> sides(samples.columns);
    for (std::size_t position = begin; position < end; ++position) {
      const std::size_t row = tree.row_at(position);
      std::fill(sides.begin(), sides.end(), radii[row]);
      out[row] = tree.count(tree.point_at(position), sides.data(), Closeness::nearer_or_equal) - 1;
    }
  });
  return out;
}

double rounding_of_distances(const Table& samples) {
  double largest = 0;
  for (double value : samples.values) largest = std::max(largest, std::abs(value));
  return 8 * std::numeric_limits<double>::epsilon() * largest;
}

}  // namespace isentropic::information
