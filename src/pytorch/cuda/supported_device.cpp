// Which devices the kernels run on: checked once per device, with a single warning where they do not.
#include <c10/util/Exception.h>

#include <array>
#include <mutex>
#include <optional>

#include "attention/cuda/device_support.hpp"
#include "pytorch/cuda/attention_cuda.hpp"

namespace isentropic::pytorch {

bool is_supported(std::int64_t device) {
  static std::mutex mutex;
  static std::array<std::optional<bool>, 64> known;
  const std::lock_guard lock(mutex);
  if (device < 0 || device >= std::ssize(known)) return cuda::why_unsupported(static_cast<int>(device)).empty();
  std::optional<bool>& here = known[static_cast<std::size_t>(device)];
  if (!here) {
    const std::string why = cuda::why_unsupported(static_cast<int>(device));
    here = why.empty();
    if (!*here)
      TORCH_WARN("isentropic's kernels do not run on cuda:", device, ", because ", why,
                 ". Its operators are put together from PyTorch's own there, which takes far longer.");
  }
  return *here;
}

}  // namespace isentropic::pytorch
