// Neighbours and counts against brute force.
#include "information/point_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace isentropic::information {
namespace {

double distance(const double* a, const double* b, std::size_t columns) {
  double out = 0;
  for (std::size_t c = 0; c < columns; ++c) out = std::max(out, std::abs(a[c] - b[c]));
  return out;
}

// Continuous points, or points on a coarse grid, where most distances are equal.
Table points(std::size_t rows, std::size_t columns, bool on_grid, Random* random) {
  Table out(rows, columns);
  for (double& x : out.values) x = on_grid ? static_cast<double>(random->integer(0, 3)) : random->normal();
  return out;
}

TEST(PointTree, NearestAsByBruteForce) {
  Random random(1);
  for (std::size_t columns : {1, 2, 3, 5})
    for (std::size_t rows : {2, 3, 12, 13, 24, 25, 26, 200, 1000})
      for (bool on_grid : {false, true}) {
        const Table table = points(rows, columns, on_grid, &random);
        const PointTree tree(table);
        const int k = std::min<int>(7, static_cast<int>(rows) - 1);
        std::vector<Neighbour> found(static_cast<std::size_t>(k));
        for (std::size_t position = 0; position < rows; ++position) {
          const std::size_t self = tree.row_at(position);
          ASSERT_EQ(distance(tree.point_at(position), table.row(self).data(), columns), 0);
          tree.nearest(position, k, found.data());
          std::vector<double> expected;
          for (std::size_t r = 0; r < rows; ++r)
            if (r != self) expected.push_back(distance(table.row(r).data(), table.row(self).data(), columns));
          std::sort(expected.begin(), expected.end());
          for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i].distance, expected[i]) << rows << " x " << columns << " grid " << on_grid;
            ASSERT_EQ(distance(tree.point_at(found[i].position), tree.point_at(position), columns), expected[i]);
            ASSERT_NE(found[i].position, position);
          }
        }
      }
}

TEST(PointTree, CountsAsByBruteForce) {
  Random random(2);
  for (std::size_t columns : {1, 2, 4})
    for (bool on_grid : {false, true}) {
      const std::size_t rows = 500;
      const Table table = points(rows, columns, on_grid, &random);
      const PointTree tree(table);
      const SortedColumn sorted(columns == 1 ? table.values : std::vector<double>{});
      for (int trial = 0; trial < 200; ++trial) {
        const double* const centre = table.row(static_cast<std::size_t>(random.integer(0, rows - 1))).data();
        std::vector<double> radii(columns);
        for (double& r : radii) r = on_grid ? static_cast<double>(random.integer(0, 2)) : random.exponential();
        std::size_t nearer = 0, or_equal = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          bool all_nearer = true, all_or_equal = true;
          for (std::size_t c = 0; c < columns; ++c) {
            all_nearer = all_nearer && std::abs(table(r, c) - centre[c]) < radii[c];
            all_or_equal = all_or_equal && std::abs(table(r, c) - centre[c]) <= radii[c];
          }
          nearer += all_nearer ? 1 : 0;
          or_equal += all_or_equal ? 1 : 0;
        }
        ASSERT_EQ(tree.count(centre, radii.data(), Closeness::nearer), nearer);
        ASSERT_EQ(tree.count(centre, radii.data(), Closeness::nearer_or_equal), or_equal);
        if (columns > 1) continue;
        ASSERT_EQ(sorted.count(centre[0], radii[0], Closeness::nearer), nearer);
        ASSERT_EQ(sorted.count(centre[0], radii[0], Closeness::nearer_or_equal), or_equal);
      }
    }
}

}  // namespace
}  // namespace isentropic::information
