// Asynchronous copies of tensors to the CPU.
//
// From a CUDA device they go into pinned memory on a separate stream, in parallel with later computation; an event
// signals when all have arrived. From other devices the copy is immediate.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace isentropic::pytorch {

inline at::Tensor on_cpu(const at::Tensor& x, at::ScalarType type) {
  return x.detach().cpu().to(type).contiguous();  // converted on the CPU: other devices may lack the type
}

// One stream for the copies from each device.
class CopyStreams {
 public:
  c10::Stream of(c10::Device device) {
    const auto found = streams_.find(device.index());
    if (found != streams_.end()) return found->second;
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, false);
    return streams_.emplace(device.index(), stream).first->second;
  }

 private:
  std::map<c10::DeviceIndex, c10::Stream> streams_;
};

class Arrivals {
 public:
  // The destination tensor; complete after the event of start().
  at::Tensor copy(const at::Tensor& x, at::ScalarType type) {
    if (!x.is_cuda()) return on_cpu(x, type);
    at::Tensor there = x.detach().to(type).contiguous();
    at::Tensor here = at::empty(there.sizes(), at::TensorOptions(type).pinned_memory(true));
    bytes_ += here.nbytes();
    moving_.emplace_back(std::move(there), here);
    return here;
  }
  std::size_t bytes() const { return bytes_; }

  // All copies must be from one device. Null: nothing to wait for.
  std::shared_ptr<c10::Event> start(CopyStreams& streams) {
    if (moving_.empty()) return nullptr;
    const c10::Device device = moving_.front().first.device();
    const c10::Stream stream = streams.of(device);
    c10::Event computed(device.type());
    computed.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    computed.block(stream);
    const c10::StreamGuard guard(stream);
    for (auto& [there, here] : moving_) {
      here.copy_(there, /*non_blocking=*/true);
      there.record_stream(stream);  // keeps its memory allocated until the copy is done
    }
    moving_.clear();
    const auto arrived = std::make_shared<c10::Event>(device.type());
    arrived->record(stream);
    return arrived;
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> moving_;  // source, destination
  std::size_t bytes_ = 0;
};

}  // namespace isentropic::pytorch
