// Similarity of heads, from the weights of the same sampled rows in every layer.
//
// If there are many keys they are pooled into stretches, so that a thousand heads take seconds; pooling can only make
// heads look more alike.
#pragma once

#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/information/table.hpp"
#include "scan/result.hpp"

namespace isentropic::scan {

// Number of rows to keep of each head, and of stretches to pool their keys into.
struct Pooling {
  std::size_t rows = 32, columns = 256;
};
Pooling pooling_for(std::size_t heads);
// The first rows of a table, with sums of neighbouring columns.
information::Table pooled(const information::Table& table, const Pooling& pooling);

// All pairs of heads, as tables of one shape: 1 - mean over rows of JS / log 2. Symmetric, 1 on the diagonal.
std::vector<std::vector<double>> similarity_matrix(const std::vector<information::Table>& heads, Executor& executor);

// For every head (of two or more), the most similar other one.
std::vector<std::size_t> nearest(const std::vector<std::vector<double>>& similarities);

}  // namespace isentropic::scan
