// Matrices of numbers from a MATLAB file of version 5, compressed or not.
//
//   128 bytes   text, version 0x0100, "IM" (little-endian) or "MI"
//   elements    type and length in 4 bytes each (or both in one word, data in the next), data, padding to 8 bytes
//   15          an element compressed with zlib; 14 a matrix: flags, dimensions, name, real part
//
// Real numeric and logical matrices of two dimensions are read; everything else in the file (text, cells, structures,
// complex and sparse matrices) is skipped. Throws Error, which names the file, if it is missing, truncated, of another
// version or damaged, or if a matrix is larger than a gigabyte.
#pragma once

#include <string>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::io {

struct NamedMatrix {
  std::string name;
  information::Table table;
};

std::vector<NamedMatrix> read_mat(const std::string& path);

}  // namespace isentropic::io
