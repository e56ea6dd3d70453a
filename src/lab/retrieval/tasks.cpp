// Draws the inputs of retrieval tasks.
#include "lab/retrieval/tasks.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "isentropic/error.hpp"

namespace isentropic::lab::retrieval {
namespace {

constexpr std::int64_t kCode = 16;     // values per key, standard normal
constexpr std::int64_t kClasses = 10;  // except for first, which has two

at::Generator seeded(std::uint64_t seed) { return at::detail::createCPUGenerator(seed); }

at::Tensor indicators(const at::Tensor& classes, std::int64_t count) {
  return at::one_hot(classes, count).to(at::kFloat);
}

at::Tensor signs(at::IntArrayRef sizes, at::Generator& generator) {
  return at::randint(0, 2, sizes, generator).to(at::kFloat) * 2 - 1;
}

Batch draw_first(std::int64_t batch, std::int64_t n, std::uint64_t seed) {
  at::Generator generator = seeded(seed);
  at::Tensor inputs = at::zeros({batch, n + 1, 3});  // symbol, first mark, query mark
  inputs.narrow(1, 0, n).select(2, 0).copy_(signs({batch, n}, generator));
  inputs.select(1, 0).select(1, 1).fill_(1);
  inputs.select(1, n).select(1, 2).fill_(1);
  const at::Tensor targets = inputs.select(1, 0).select(1, 0).gt(0).to(at::kLong);
  return {inputs, targets};
}

Batch draw_maximum(std::int64_t batch, std::int64_t n, std::uint64_t seed) {
  at::Generator generator = seeded(seed);
  at::Tensor inputs = at::zeros({batch, n + 1, kClasses + 2});  // class, priority, query mark
  const at::Tensor classes = at::randint(0, kClasses, {batch, n}, generator, at::kLong);
  const at::Tensor priorities = at::rand({batch, n}, generator);
  inputs.narrow(1, 0, n).narrow(2, 0, kClasses).copy_(indicators(classes, kClasses));
  inputs.narrow(1, 0, n).select(2, kClasses).copy_(priorities);
  inputs.select(1, n).select(1, kClasses + 1).fill_(1);
  return {inputs, classes.gather(1, priorities.argmax(1, true)).squeeze(1)};
}

Batch draw_needle(std::int64_t batch, std::int64_t n, std::uint64_t seed) {
  at::Generator generator = seeded(seed);
  at::Tensor inputs = at::zeros({batch, n + 1, kCode + kClasses + 1});  // key, class, query mark
  const at::Tensor keys = at::randn({batch, n, kCode}, generator);
  const at::Tensor classes = at::randint(0, kClasses, {batch, n}, generator, at::kLong);
  const at::Tensor place = at::randint(0, n, {batch, 1}, generator, at::kLong);
  inputs.narrow(1, 0, n).narrow(2, 0, kCode).copy_(keys);
  inputs.narrow(1, 0, n).narrow(2, kCode, kClasses).copy_(indicators(classes, kClasses));
  inputs.select(1, n)
      .narrow(1, 0, kCode)
      .copy_(keys.gather(1, place.unsqueeze(2).expand({batch, 1, kCode})).squeeze(1));
  inputs.select(1, n).select(1, kCode + kClasses).fill_(1);
  return {inputs, classes.gather(1, place).squeeze(1)};
}

// n / 2 pairs of two tokens; for odd n, the last token is empty.
Batch draw_recall(std::int64_t batch, std::int64_t n, std::uint64_t seed) {
  const std::int64_t pairs = std::max<std::int64_t>(1, n / 2);
  const Batch flat = draw_needle(batch, pairs, seed);
  at::Tensor inputs = at::zeros({batch, std::max(n, 2 * pairs) + 1, kCode + kClasses + 1});
  at::Tensor of_pairs = inputs.narrow(1, 0, 2 * pairs).view({batch, pairs, 2, -1});
  of_pairs.select(2, 0).narrow(2, 0, kCode).copy_(flat.inputs.narrow(1, 0, pairs).narrow(2, 0, kCode));
  of_pairs.select(2, 1).narrow(2, kCode, kClasses).copy_(flat.inputs.narrow(1, 0, pairs).narrow(2, kCode, kClasses));
  inputs.select(1, -1).copy_(flat.inputs.select(1, pairs));
  return {inputs, flat.targets};
}

}  // namespace

const std::vector<Task>& tasks() {
  static const std::vector<Task> tasks = {
      {"first", "is the first symbol 1?", 3, 2, 1, false, draw_first},
      {"maximum", "what is the class of the item with the highest priority?", kClasses + 2, kClasses, 1, false,
       draw_maximum},
      {"needle", "what stands beside the key that equals the query?", kCode + kClasses + 1, kClasses, 1, false,
       draw_needle},
      {"recall", "what came after the key that equals the query?", kCode + kClasses + 1, kClasses, 2, true,
       draw_recall},
  };
  return tasks;
}

const Task& task_named(const std::string& name) {
  const auto found = std::ranges::find(tasks(), name, &Task::name);
  if (found == tasks().end()) throw Error("task", "'" + name + "'", "first, maximum, needle or recall");
  return *found;
}

}  // namespace isentropic::lab::retrieval
