// The scale of every row, by its law or solved for a wanted entropy.
#pragma once

#include "attention/dims.hpp"
#include "attention/visibility.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

RowScales row_scales(const AttentionProblem& problem);

// What the law of row (b, h, i) is given.
ScaleRow scale_row(const AttentionProblem& problem, const Visibility& visibility, const RowScales& scales,
                   std::int64_t b, std::int64_t h, std::int64_t i);

}  // namespace isentropic
