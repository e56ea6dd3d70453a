// How alike heads are, from the weights of the same sampled rows in every layer.
//
// Keys are pooled into stretches where there are many, so that a thousand heads take seconds: pooling can only make
// heads look more alike.
#pragma once

#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/information/table.hpp"
#include "scan/result.hpp"

namespace isentropic::scan {

// How many rows to keep of each head, and into how many stretches to pool their keys.
struct Pooling {
  std::size_t rows = 32, columns = 256;
};
Pooling pooling_for(std::size_t heads);
// The first rows of a table, with sums of neighbouring columns.
information::Table pooled(const information::Table& table, const Pooling& pooling);

// Every head with every other, tables of one shape: 1 - mean over rows of JS / log 2. Symmetric, 1 on the diagonal.
std::vector<std::vector<double>> similarity_matrix(const std::vector<information::Table>& heads, Executor& executor);

// Of every head (two or more) the one most similar to it.
std::vector<std::size_t> nearest(const std::vector<std::vector<double>>& similarities);

}  // namespace isentropic::scan
