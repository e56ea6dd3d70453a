// Points in space, arranged so that the nearest of them, and those in a box, are found without looking at all.
//
// A k-d tree under the maximum norm |a - b| = max_c |a_c - b_c|: cells are halved at the median of their widest column
// until few points are left. Under this norm the distance to a cell is the largest of its distances along the columns,
// so a bound only ever needs one comparison when the search steps across a cut. (Trees that add up the columns, as
// nanoflann's do for every metric, would cut off cells that hold neighbours.)
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

  // Points have positions 0 ... size - 1, in which near points are near to each other: work through them in this order.
  std::size_t size() const { return points_.rows; }
  std::size_t row_at(std::size_t position) const { return row_at_[position]; }
  const double* point_at(std::size_t position) const { return points_.values.data() + position * points_.columns; }

  // The k nearest to the point at `position`, itself excluded, nearest first. Needs k < size.
  void nearest(std::size_t position, int k, Neighbour* out) const;

  // Points whose every column c is within radii[c] of the given one's.
  std::size_t count(const double* point, const double* radii, Closeness closeness) const;

 private:
  struct Node {
    std::size_t begin, end;            // positions
    std::size_t child;                 // the left one; the right one follows it; 0: a leaf
    std::size_t column;                // that was cut,
    double left_largest, right_least;  // and the gap there
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
  std::vector<std::size_t> row_at_;  // position -> row of the table given
  std::vector<Node> nodes_;
  std::vector<double> boxes_;  // per node: least and largest of every column
};

// The same for one column: a sorted array.
class SortedColumn {
 public:
  explicit SortedColumn(std::vector<double> values);
  std::size_t count(double value, double radius, Closeness closeness) const;

 private:
  std::vector<double> values_;
};

}  // namespace isentropic::information
