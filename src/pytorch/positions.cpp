// Rotary, sinusoidal and ALiBi positions.
#include "isentropic/pytorch/positions.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <bit>
#include <cmath>
#include <vector>

#include "pytorch/device_rotation.hpp"

namespace isentropic::pytorch {
namespace {

// [..., n, pairs].
at::Tensor angles(const at::Tensor& positions, const at::Tensor& frequencies) {
  return positions.to(frequencies.scalar_type()).unsqueeze(-1) * frequencies.to(positions.device());
}

std::vector<double> geometric_slopes(std::int64_t heads) {
  std::vector<double> out;
  for (std::int64_t h = 1; h <= heads; ++h)
    out.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(heads)));
  return out;
}

at::Tensor rotate_plainly(const at::Tensor& x, const Rotation& rotation) {
  const std::int64_t r = rotation.cosine.size(-1), half = r / 2;
  const at::Tensor turned = x.narrow(-1, 0, r);
  const at::Tensor across = at::cat({-turned.narrow(-1, half, half), turned.narrow(-1, 0, half)}, -1);
  const at::Tensor out = (turned * rotation.cosine + across * rotation.sine).to(x.scalar_type());
  return r == x.size(-1) ? out : at::cat({out, x.narrow(-1, r, x.size(-1) - r)}, -1);
}

// Calls the kernel; its gradient is the backward rotation.
class DeviceRotation : public torch::autograd::Function<DeviceRotation> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static at::Tensor forward(Context* context, const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine) {
    const at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({cosine, sine});
    return rotate_on_cuda().turn(x, {cosine, sine}, false);
  }

  static List backward(Context* context, const List& gradients) {
    const List saved = context->get_saved_variables();
    const Rotation rotation{saved[0], saved[1]};
    const at::Tensor& g = gradients[0];
    const bool fits = rotate_on_cuda().fits(g, rotation) && !g.requires_grad();
    return {fits ? rotate_on_cuda().turn(g, rotation, true) : rotate_plainly(g, {saved[0], -saved[1]}), {}, {}};
  }
};

}  // namespace

at::Tensor frequencies(std::int64_t pairs, double base) {
  return at::pow(base, -at::arange(pairs, at::kDouble) / static_cast<double>(pairs));
}

Rotation rotation(const at::Tensor& positions, const at::Tensor& frequencies, at::ScalarType type, double amplitude) {
  const at::Tensor half = angles(positions, frequencies);
  const at::Tensor both = at::cat({half, half}, -1);
  return {(both.cos() * amplitude).to(type), (both.sin() * amplitude).to(type)};
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation) {
  const DeviceRotate& kernel = rotate_on_cuda();
  if (x.is_cuda() && kernel.fits && kernel.fits(x, rotation))
    return DeviceRotation::apply(x, rotation.cosine, rotation.sine);
  return rotate_plainly(x, rotation);
}

at::Tensor sinusoids(const at::Tensor& positions, const at::Tensor& frequencies, std::int64_t width,
                     SinusoidOrder order) {
  const at::Tensor turn = angles(positions, frequencies);
  const at::Tensor all = order == SinusoidOrder::sines_first ? at::cat({turn.sin(), turn.cos()}, -1)
                                                             : at::stack({turn.sin(), turn.cos()}, -1).flatten(-2);
  return all.narrow(-1, 0, width);
}

at::Tensor alibi_slopes(std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> out = geometric_slopes(power);
  const std::vector<double> finer = geometric_slopes(2 * power);
  for (std::size_t h = 0; static_cast<std::int64_t>(out.size()) < heads; h += 2) out.push_back(finer[h]);
  return at::tensor(out, at::kFloat);
}

}  // namespace isentropic::pytorch
