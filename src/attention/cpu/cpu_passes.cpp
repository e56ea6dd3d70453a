// The CPU's table of passes.
#include "attention/cpu/cpu_passes.hpp"

#include "attention/cpu/streaming/streaming.hpp"
#include "attention/cpu/whole_rows/whole_rows.hpp"

namespace isentropic {

const Passes& cpu_passes() {
  static constexpr Passes kPasses{.softmax_forward = softmax_forward,
                                  .softmax_partial = softmax_partial,
                                  .softmax_backward = softmax_backward,
                                  .softmax_key_mass = softmax_key_mass,
                                  .solve_target_entropy = solve_target_entropy,
                                  .whole_rows_forward = whole_rows_forward,
                                  .whole_rows_backward = whole_rows_backward,
                                  .whole_rows_key_mass = whole_rows_key_mass,
                                  .whole_rows_weights = whole_rows_weights,
                                  .recurrent_forward = recurrent_forward};
  return kPasses;
}

}  // namespace isentropic
