// The numbers of a scan as arrays for NumPy: an .npz file, which is a zip archive of .npy files, uncompressed.
//
//   layer, head                       [heads], the head that each entry of the other arrays belongs to
//   entropy, peak, ...                [heads], the means of the statistics; NaN if not measured
//   entropy_deviation, ...            [heads], between texts or windows
//   entropy_curve                     [heads, points]
//   lengths, loss_by_length           [lengths], if there are any, and entropy_by_length [heads, lengths]
//   rows_entropy, rows_peak, ...      [heads, rows] of the first window, if rows were kept
#pragma once

#include <string>

#include "scan/result.hpp"

namespace isentropic::scan {

std::string npz(const Result& result);  // its bytes

}  // namespace isentropic::scan
