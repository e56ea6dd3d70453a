// Problems are dispatched to the passes of the device that holds their tensors.
#include "attention/devices.hpp"

#include "attention/cpu/cpu_passes.hpp"
#include "errors_support.hpp"

namespace attention_test {
namespace {

using isentropic::Device;
using isentropic::Passes;

constexpr Device kFirst{Device::Kind::cuda, 0}, kSecond{Device::Kind::cuda, 1};

View on(Device device, View view) {
  view.device = device;
  return view;
}

AttentionProblem good_on(Device device) {
  AttentionProblem problem = good();
  for (View* view : {&problem.query, &problem.key, &problem.value}) *view = on(device, *view);
  return problem;
}

int calls_of_another_device = 0;

// The CPU's passes posing as another device's, counting forward passes.
class AnotherDevice {
 public:
  AnotherDevice() : passes_(isentropic::cpu_passes()) {
    passes_.softmax_forward = [](const AttentionProblem& problem, auto state, isentropic::OutputUse output) {
      ++calls_of_another_device;
      return isentropic::cpu_passes().softmax_forward(problem, std::move(state), output);
    };
    isentropic::set_passes(Device::Kind::cuda, &passes_);
  }
  ~AnotherDevice() { isentropic::set_passes(Device::Kind::cuda, nullptr); }

 private:
  Passes passes_;
};

TEST(Devices, AnUnknownOneIsRefused) {
  const AttentionProblem problem = good_on(kSecond);
  expect_error([&] { attention(problem); }, {"device", "cuda:1", "kernels"});
  expect_error([&] { attention_partial(problem); }, {"device", "cuda:1"});
  expect_error([&] { attention_weights(problem, {0}); }, {"device", "cuda:1"});
  const isentropic::AttentionResult forward = attention(good());
  expect_error([&] { attention_key_mass(problem, forward); }, {"device", "cuda:1"});
  expect_error([&] { attention_backward(problem, forward, {.output = on(kSecond, forward.output)}); },
               {"device", "cuda:1"});
}

TEST(Devices, OneThatAnnouncedItselfIsAsked) {
  Case description{.sizes = kSmall, .seed = 7100};
  Instance x = build(description);
  const std::vector<double> expected = attention(x.problem).output.to_doubles();
  const AnotherDevice device;
  calls_of_another_device = 0;
  EXPECT_EQ(attention(x.problem).output.to_doubles(), expected);
  EXPECT_EQ(calls_of_another_device, 0);
  for (View* view : {&x.problem.query, &x.problem.key, &x.problem.value}) view->device = kFirst;
  EXPECT_EQ(attention(x.problem).output.to_doubles(), expected);
  EXPECT_EQ(calls_of_another_device, 1);
}

TEST(Devices, AllTensorsOfAProblemShareIt) {
  const auto elsewhere = [](View view) { return on(kFirst, std::move(view)); };
  refused([&](auto& p) { p.query.device = kFirst; }, {"key device", "cpu", "cuda:0"});
  refused([&](auto& p) { p.key.device = kFirst; }, {"key device", "cuda:0", "cpu, as the query"});
  refused([&](auto& p) { p.bias = Bias::dense(elsewhere(view({2, 4, 6, 5}))); }, {"bias device", "cuda:0", "cpu"});
  refused(
      [&](auto& p) {
        p.mask = Mask::none().dense(elsewhere(view({2, 4, 6, 5})));
      },
      {"dense mask device", "cuda:0"});
  refused(
      [&](auto& p) {
        p.mask = Mask::none().block_sparse(elsewhere(View(kFlags, {1, 1, 3, 3})), 2, 2);
      },
      {"block-sparse layout device", "cuda:0"});
  refused([&](auto& p) { p.mask = Mask::none().exclude_keys(elsewhere(View(kIntegers, {6}))); },
          {"excluded keys device", "cuda:0"});
  refused([&](auto& p) { p.scale = Scale::per_row(elsewhere(view({2, 4, 6}))); }, {"scale rows device", "cuda:0"});
  refused([&](auto& p) { p.shard.visible = elsewhere(View(kIntegers, {2, 4, 6})); }, {"visible device", "cuda:0"});
  AttentionProblem two = good();
  two.value.device = kFirst;
  expect_error([&] { attention(two); }, {"value device", "cuda:0", "cpu"});
  const isentropic::AttentionResult forward = attention(good());
  expect_error([&] { attention_backward(good(), forward, {.output = elsewhere(forward.output)}); },
               {"output device", "cuda:0", "cpu"});
}

}  // namespace
}  // namespace attention_test
