// Checks of a loss problem before any work.
#include "losses/validate.hpp"

#include <cmath>

#include "base/checks.hpp"
#include "base/element.hpp"

namespace isentropic {
namespace {

using isentropic::to_string;
using std::to_string;

}  // namespace

void validate_shapes(const SoftmaxLossProblem& x) {
  for (const auto& [argument, view] : {std::pair("query", &x.query), std::pair("key", &x.key)}) {
    require(view->rank() == 2, argument, to_string(view->shape), "two axes");
    require(is_floating(view->type), argument, name(view->type), "a floating type");
    require(view->data != nullptr || view->shape[0] == 0, argument, "null", "the elements of a tensor");
  }
  require(x.key.type == x.query.type, "key type", name(x.key.type), std::string(name(x.query.type)) + ", as the query");
  require(x.key.shape[1] == x.query.shape[1], "key d", to_string(x.key.shape[1]),
          to_string(x.query.shape[1]) + ", as the query");
  const std::int64_t rows = x.query.shape[0], keys = x.key.shape[0];
  require(x.target.rank() == 1 && x.target.shape[0] == rows && x.target.type == DType::int64, "target",
          to_string(x.target.shape) + " of " + name(x.target.type), to_string(Shape{rows}) + " of int64");
  if (x.bias.present())
    require(x.bias.rank() == 1 && x.bias.shape[0] == keys && is_floating(x.bias.type), "bias", to_string(x.bias.shape),
            to_string(Shape{keys}) + " of a floating type");
  require(std::isfinite(x.scale), "scale", to_text(x.scale), "a finite number");
  if (x.soft_cap)
    require(std::isfinite(*x.soft_cap) && *x.soft_cap > 0, "soft cap", to_text(*x.soft_cap), "a positive number");
  require(!x.exclude_self || rows == keys, "key count", to_string(keys),
          to_string(rows) + ": exclude_self needs the queries as keys");
}

void validate_targets(const SoftmaxLossProblem& x) {
  const std::int64_t keys = x.key.shape[0];
  for (std::int64_t i = 0; i < x.target.shape[0]; ++i) {
    const auto target = static_cast<std::int64_t>(element(x.target, i * x.target.stride[0]));
    require(target >= -1 && target < keys, "target", to_string(target), "-1 or a key, up to " + to_string(keys - 1));
  }
}

}  // namespace isentropic
