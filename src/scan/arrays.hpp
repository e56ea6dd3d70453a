// The numbers of a scan as arrays that NumPy loads: an .npz file, which is a zip archive of .npy files, uncompressed.
//
//   layer, head                       [heads], the head that each entry of the others belongs to
//   entropy, peak, ...                [heads], the means of the statistics; NaN where one was not measured
//   entropy_deviation, ...            [heads], between texts or windows
//   entropy_curve                     [heads, points]
//   lengths, loss_by_length           [lengths], where there are any, and entropy_by_length [heads, lengths]
//   rows_entropy, rows_peak, ...      [heads, rows] of the first window, where rows were kept
#pragma once

#include <string>

#include "scan/result.hpp"

namespace isentropic::scan {

std::string npz(const Result& result);  // its bytes

}  // namespace isentropic::scan
