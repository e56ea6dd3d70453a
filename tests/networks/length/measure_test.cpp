// Networks are evaluated with the parameters that were trained.
#include "lab/length/measure.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace isentropic::lab::length {
namespace {

model::Transformer random_network(const Study& study, const Law& law) {
  const model::Description description = describe(study, law, "rotary", 30);
  at::Generator generator = at::detail::createCPUGenerator(5);
  model::RandomParameters source(description, generator, at::TensorOptions().dtype(at::kFloat));
  return model::Transformer(description, source);
}

// At the trained length and twice that, for every law that trains its own networks.
TEST(NetworkFor, KeepsEverythingThatWasLearnt) {
  Study study;
  study.layers = 2, study.heads = 2, study.width = 16, study.length = 8, study.scored = 4;
  const at::NoGradGuard no_gradient;
  at::manual_seed(1);
  for (const Law& law : laws_of(study)) {
    if (!law.networks.empty()) continue;
    const model::Transformer trained = random_network(study, law);
    const model::ForwardOptions options{.attention = attention_of(law)};
    for (const std::int64_t n : {8, 16}) {
      SCOPED_TRACE(law.name + ", n = " + std::to_string(n));
      const at::Tensor ids = at::randint(30, {1, n}, at::kLong);
      const at::Tensor before = trained.forward(ids, options).hidden;
      for (const auto& parameter : trained.parameters()) parameter.value().mul_(at::rand_like(parameter.value()) + 1);
      const at::Tensor wanted = trained.forward(ids, options).hidden;
      EXPECT_GT((wanted - before).abs().max().item<double>(), 1e-3);
      EXPECT_TRUE(at::equal(network_for(trained, study, law, n).forward(ids, options).hidden, wanted));
    }
  }
}

}  // namespace
}  // namespace isentropic::lab::length
