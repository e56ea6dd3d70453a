// An attention problem as an operator receives it: numbers and names in one JSON text, tensors beside it.
//
// A PyTorch schema knows tensors, numbers and strings but no structures, and what is in a schema is there for ever;
// the text holds whatever is not a tensor and names the tensors that follow. All keys are optional:
//
//   "causal": true, "align": "start" | "end", "window": [left, right], "prefix": g, "strided": [stride, local],
//   "block": [block_q, block_k], "segments": n, "exclude_self": true
//   "scale": {"law": name, "parameters": [[number, ...] or "tensor", ...], "length": n, "numbers": [...],
//             "gradient": "detached" | "implicit"}
//   "map": {"name": name, "keys": k, "tau": t, "straight_through": true, "offset": x, "normaliser": name,
//           "feature": name, "gamma": [...], "form": "quadratic" | "recurrent"}
//   "bias": "dense" | "alibi" | "relative", "soft_cap": x, "dropout": p
//   "statistics": [name, ...] | "all", "groups": [first, recent]
//   "terms": the names of the tensors, in order: "mask" (dense), "layout", "key_lengths", "query_offsets",
//            "key_offsets", "scale" (once for each parameter that is a tensor; the rows of per_row), "bias" (values,
//            slopes or table), "sink", "seed"
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isentropic/attention.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

// The tensors of a problem by name. A name occurs once, but for "scale".
class Terms {
 public:
  Terms() = default;
  Terms(const std::vector<std::string>& names, at::TensorList tensors);

  const at::Tensor* find(const std::string& name) const;
  const std::vector<at::Tensor>& scale() const { return scale_; }
  // Places of the terms in the operator's list.
  std::optional<std::size_t> place(const std::string& name) const;
  const std::vector<std::size_t>& scale_places() const { return scale_places_; }

 private:
  std::map<std::string, at::Tensor> tensors_;
  std::map<std::string, std::size_t> places_;
  std::vector<at::Tensor> scale_;
  std::vector<std::size_t> scale_places_;
};

// Whether the tensors' values may be looked at. On the meta device there are none: a stand-in problem has the right
// map, statistics and terms, but no views.
enum class Values : std::uint8_t { read, absent };

struct Description {
  Description(std::string_view text, const at::Tensor& query, const at::Tensor& key,
              const std::optional<at::Tensor>& value, at::TensorList tensors, Values values = Values::read);
  Description(const Description&) = delete;

  Terms terms;
  std::vector<int> scale_parameters;  // for each "scale" term: which parameter of the law it is
  bool per_row = false;               // a "scale" term holds the rows of lambda
  bool alibi = false;                 // the "bias" term holds slopes
  TensorKeepAlive keep_alive;         // what the views of the problem look at
  AttentionProblem problem;
};

// ---- Which statistics an operator returns, and where ----

struct StatisticsLayout {
  explicit StatisticsLayout(const AttentionProblem& problem);
  std::vector<Statistic> differentiable;  // in the operator's `statistics`
  std::vector<Statistic> measured;        // in `measures`: no gradient
  std::vector<Statistic> counted;         // in `counts`: integers
};

}  // namespace isentropic::pytorch
