// A spatial index that finds the nearest points, and those in a box, without visiting all of them.
//
// A k-d tree under the maximum norm |a - b| = max_c |a_c - b_c|: cells are split at the median of their widest column
// until few points are left. Under this norm the distance to a cell is the largest of its distances along the columns,
// so a bound needs only one comparison when the search crosses a cut. (Trees that add up the columns, as nanoflann's do
// for every metric, would prune cells that contain neighbours.)
//
// Distances are differences of the stored numbers without further rounding, hence "strictly nearer than the k-th
// neighbour" means the same in the whole space and in some of its columns.
#pragma once

#include <cstddef>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

enum class Closeness { nearer, nearer_or_equal };

struct Neighbour {
  double distance;
  std::size_t position;
};

class PointTree {
 public:
  explicit PointTree(const Table& points);

  // Points have positions 0 ... size - 1, ordered so that nearby points have nearby positions: process them in this
  // order.
  std::size_t size() const { return points_.rows; }
  std::size_t row_at(std::size_t position) const { return row_at_[position]; }
  const double* point_at(std::size_t position) const { return points_.values.data() + position * points_.columns; }

  // The k nearest to the point at `position`, itself excluded, nearest first. Needs k < size.
  void nearest(std::size_t position, int k, Neighbour* out) const;

  // The number of points with every column c within radii[c] of the given one's.
  std::size_t count(const double* point, const double* radii, Closeness closeness) const;

 private:
  struct Node {
    std::size_t begin, end;            // positions
    std::size_t child;                 // the left child, followed by the right one; 0: a leaf
    std::size_t column;                // the column that was cut,
    double left_largest, right_least;  // and the gap at the cut
  };
  struct Search;

  class Builder;
  template <std::size_t kColumns>
  void visit(Search& search, std::size_t node, double bound) const;
  template <std::size_t kColumns>
  void scan_leaf(Search& search, const Node& node) const;
  template <Closeness closeness>
  std::size_t count_in(const double* point, const double* radii, std::size_t node) const;

  Table points_;                     // in the order of positions
  std::vector<std::size_t> row_at_;  // position -> row of the given table
  std::vector<Node> nodes_;
  std::vector<double> boxes_;  // per node: minimum and maximum of every column
};

// The same for a single column: a sorted array.
class SortedColumn {
 public:
  explicit SortedColumn(std::vector<double> values);
  std::size_t count(double value, double radius, Closeness closeness) const;

 private:
  std::vector<double> values_;
};

}  // namespace isentropic::information
