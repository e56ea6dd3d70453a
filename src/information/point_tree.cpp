// A k-d tree for the maximum norm, laid out in memory in search order.
#include "information/point_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace isentropic::information {
namespace {

constexpr std::size_t kLeaf = 12;  // points; the time hardly changes between 8 and 16

template <Closeness closeness>
bool within(double distance, double radius) {
  return closeness == Closeness::nearer ? distance < radius : distance <= radius;
}

}  // namespace

// The best so far, sorted by distance.
struct PointTree::Search {
  const double* point;
  std::size_t self;
  std::size_t k;
  Neighbour* best;
  std::size_t found = 0;
  double worst = std::numeric_limits<double>::quiet_NaN();  // NaN: until k are found nothing is too far, not even inf

  void offer(double distance, std::size_t position) {
    std::size_t at = found < k ? found++ : k - 1;
    for (; at > 0 && best[at - 1].distance > distance; --at) best[at] = best[at - 1];
    best[at] = {distance, position};
    if (found == k) worst = best[k - 1].distance;
  }
};

// Splits cells depth first and moves their points as it goes, so that deeper levels work in cache.
class PointTree::Builder {
 public:
  explicit Builder(PointTree* tree)
      : tree_(*tree),
        columns_(tree->points_.columns),
        keys_(tree->size()),
        moved_(tree->points_.values.size()),
        moved_rows_(tree->size()) {}

  void cut(std::size_t index) {
    const std::size_t begin = tree_.nodes_[index].begin, end = tree_.nodes_[index].end;
    const std::size_t column = widest_column(index, begin, end);
    if (end - begin <= kLeaf || column == columns_) return;
    const std::size_t middle = (begin + end) / 2;
    halve(begin, middle, end, column);
    double left_largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = begin; i < middle; ++i) left_largest = std::max(left_largest, tree_.point_at(i)[column]);
    const std::size_t child = tree_.nodes_.size();
    tree_.nodes_[index] = {begin, end, child, column, left_largest, tree_.point_at(middle)[column]};
    tree_.nodes_.push_back({begin, middle, 0, 0, 0, 0});
    tree_.nodes_.push_back({middle, end, 0, 0, 0, 0});
    tree_.boxes_.resize(tree_.nodes_.size() * 2 * columns_);
    cut(child);
    cut(child + 1);
  }

 private:
  // Writes the cell's box; returns columns_ if all its points are equal.
  std::size_t widest_column(std::size_t index, std::size_t begin, std::size_t end) {
    std::size_t widest = columns_;
    double width = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      double least = tree_.point_at(begin)[c], largest = least;
      for (std::size_t i = begin + 1; i < end; ++i) {
        least = std::min(least, tree_.point_at(i)[c]);
        largest = std::max(largest, tree_.point_at(i)[c]);
      }
      tree_.boxes_[(index * columns_ + c) * 2] = least;
      tree_.boxes_[(index * columns_ + c) * 2 + 1] = largest;
      if (largest - least > width) {
        width = largest - least;
        widest = c;
      }
    }
    return widest;
  }

  // Partitions so that in this column no point before `middle` is larger than one from `middle` on.
  void halve(std::size_t begin, std::size_t middle, std::size_t end, std::size_t column) {
    const auto at = [&](auto& items, std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
    for (std::size_t i = begin; i < end; ++i) keys_[i] = {tree_.point_at(i)[column], i};
    std::nth_element(at(keys_, begin), at(keys_, middle), at(keys_, end));
    for (std::size_t i = begin; i < end; ++i) {
      std::copy_n(tree_.point_at(keys_[i].second), columns_, moved_.data() + i * columns_);
      moved_rows_[i] = tree_.row_at_[keys_[i].second];
    }
    std::copy(at(moved_, begin * columns_), at(moved_, end * columns_), at(tree_.points_.values, begin * columns_));
    std::copy(at(moved_rows_, begin), at(moved_rows_, end), at(tree_.row_at_, begin));
  }

  PointTree& tree_;
  const std::size_t columns_;
  std::vector<std::pair<double, std::size_t>> keys_;
  std::vector<double> moved_;
  std::vector<std::size_t> moved_rows_;
};

PointTree::PointTree(const Table& points) : points_(points), row_at_(points.rows) {
  std::iota(row_at_.begin(), row_at_.end(), std::size_t{0});
  nodes_.reserve(4 * points.rows / kLeaf + 1);
  boxes_.reserve(nodes_.capacity() * 2 * points.columns);
  nodes_.push_back({0, points.rows, 0, 0, 0, 0});
  boxes_.resize(2 * points.columns);
  Builder(this).cut(0);
}

template <std::size_t kColumns>
void PointTree::scan_leaf(Search& search, const Node& node) const {
  const std::size_t columns = kColumns > 0 ? kColumns : points_.columns;
  const double* candidate = points_.values.data() + node.begin * columns;
  // The points of a larger leaf are all equal: k of them, plus possibly the point itself, represent all.
  const std::size_t end = node.end - node.begin > kLeaf ? std::min(node.end, node.begin + search.k + 1) : node.end;
  for (std::size_t position = node.begin; position < end; ++position, candidate += columns) {
    double distance = 0;
    for (std::size_t c = 0; c < columns; ++c) distance = std::max(distance, std::abs(candidate[c] - search.point[c]));
    if (!(distance >= search.worst) && position != search.self) search.offer(distance, position);
  }
}

// `bound`: a lower bound on the distance to the cell's points.
template <std::size_t kColumns>
void PointTree::visit(Search& search, std::size_t index, double bound) const {
  while (true) {
    const Node& node = nodes_[index];
    if (node.child == 0) return scan_leaf<kColumns>(search, node);
    const double value = search.point[node.column];
    const double to_left = value - node.left_largest, to_right = node.right_least - value;
    const bool left_first = to_left < to_right;
    visit<kColumns>(search, node.child + (left_first ? 0 : 1), bound);
    bound = std::max(bound, left_first ? to_right : to_left);
    if (bound >= search.worst) return;
    index = node.child + (left_first ? 1 : 0);
  }
}

void PointTree::nearest(std::size_t position, int k, Neighbour* out) const {
  Search search{point_at(position), position, static_cast<std::size_t>(k), out};
  switch (points_.columns) {
    case 1:
      return visit<1>(search, 0, 0);
    case 2:
      return visit<2>(search, 0, 0);
    case 3:
      return visit<3>(search, 0, 0);
    default:
      return visit<0>(search, 0, 0);
  }
}

template <Closeness closeness>
std::size_t PointTree::count_in(const double* point, const double* radii, std::size_t index) const {
  const Node& node = nodes_[index];
  const std::size_t columns = points_.columns;
  const double* box = boxes_.data() + index * 2 * columns;
  bool all_inside = true;
  for (std::size_t c = 0; c < columns; ++c) {
    const double below = box[2 * c] - point[c], above = point[c] - box[2 * c + 1];  // positive: outside
    if (!within<closeness>(std::max(below, above), radii[c])) return 0;
    all_inside = all_inside && within<closeness>(std::max(-below, -above), radii[c]);
  }
  if (all_inside) return node.end - node.begin;
  if (node.child > 0)
    return count_in<closeness>(point, radii, node.child) + count_in<closeness>(point, radii, node.child + 1);
  std::size_t inside = 0;
  for (std::size_t position = node.begin; position < node.end; ++position) {
    bool near = true;
    for (std::size_t c = 0; c < columns && near; ++c)
      near = within<closeness>(std::abs(point_at(position)[c] - point[c]), radii[c]);
    inside += near ? 1 : 0;
  }
  return inside;
}

std::size_t PointTree::count(const double* point, const double* radii, Closeness closeness) const {
  return closeness == Closeness::nearer ? count_in<Closeness::nearer>(point, radii, 0)
                                        : count_in<Closeness::nearer_or_equal>(point, radii, 0);
}

SortedColumn::SortedColumn(std::vector<double> values) : values_(std::move(values)) {
  std::sort(values_.begin(), values_.end());
}

std::size_t SortedColumn::count(double value, double radius, Closeness closeness) const {
  const auto near = [&](double distance) {
    return closeness == Closeness::nearer ? distance < radius : distance <= radius;
  };
  const auto first = std::partition_point(values_.begin(), values_.end(), [&](double v) { return !near(value - v); });
  const auto last = std::partition_point(first, values_.end(), [&](double v) { return near(v - value); });
  return static_cast<std::size_t>(last - first);
}

}  // namespace isentropic::information
