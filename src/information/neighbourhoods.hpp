// Finds the k nearest neighbours of every point in the space of all variables and counts the points as near in some of
// the variables. The common part of every KSG estimator.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// digamma(0) ... digamma(largest), index 0 unused.
class DigammaTable {
 public:
  explicit DigammaTable(std::size_t largest);
  double operator()(std::size_t n) const { return values_[n]; }

 private:
  std::vector<double> values_;
};

enum class Neighbourhood {
  open_cube,    // strictly nearer than the k-th neighbour
  closed_cube,  // as near as the k-th neighbour: with ties, more than k points
  box           // within the smallest box around the k neighbours, with equal sides for the columns of a variable
};

struct NeighbourhoodQuestion {
  const Table& samples;
  std::vector<std::size_t> columns_of;              // number of columns of each variable, adjacent in `samples`
  std::vector<std::vector<std::size_t>> marginals;  // each a list of variables
  int k;
  Neighbourhood neighbourhood;
};

// The mean over all points of term(counts), where counts[m] is the number of other points in marginal m.
using NeighbourhoodTerm = std::function<double(const std::size_t* counts)>;
double mean_over_neighbourhoods(const NeighbourhoodQuestion& question, const NeighbourhoodTerm& term,
                                Executor& executor);

// The distance of every row to its k-th neighbour.
std::vector<double> neighbour_distances(const Table& samples, int k, Executor& executor);

// How many other rows are as near to row r as radii[r], ties included.
std::vector<std::size_t> others_within(const Table& samples, const std::vector<double>& radii, Executor& executor);

// What rounding may add to a distance between samples. Values on a lattice tie at many distances; after scaling, equal
// distances differ in their last bits.
double rounding_of_distances(const Table& samples);

}  // namespace isentropic::information
