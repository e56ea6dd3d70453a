// The written form of a problem: everything except its tensors, which are named. To and from JSON.
//
// All keys are optional:
//
//   "causal": true, "align": "start" | "end", "window": [left, right], "prefix": g, "strided": [stride, local],
//   "block": [block_q, block_k], "segments": n, "exclude_self": true
//   "scale": {"law": name, parameter: number | [one per head] | "tensor", ...}
//   "map": {"name": name, option: value, ...}; a learnable option may be "tensor", as in a scale
//   "bias": "dense" | "alibi" | "relative", "soft_cap": x, "dropout": p
//   "statistics": [name, ...] | "all", "groups": [first, recent]
//   "shard": {"query_runs": [[offset, length], ...], "key_runs": same, "total_queries": n, "total_keys": n}
//   "tensors": the names of the tensors beside the text, in their order: "mask" (dense), "layout" (of blocks),
//              "key_lengths", "query_offsets", "key_offsets", "scale" (once for each parameter that is a tensor, in
//              the order of the law's parameters; the rows of per_row), "map" (alpha of entmax), "bias" (values,
//              slopes or table), "sink", "seed"
//
// Laws, maps and their parameters are those of Scale::laws() and ScoreMap::maps().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {

struct ProblemSpec {
  Mask mask = Mask::none();                                    // without the parts given as tensors
  std::optional<std::pair<std::int64_t, std::int64_t>> block;  // block_q, block_k of a layout
  Scale scale = Scale::inverse_sqrt_d();                       // with 1 for parameters that are tensors
  std::vector<std::size_t> scale_tensors;                      // indices of those parameters in the law
  ScoreMap map = ScoreMap::softmax();                          // with the default for a parameter that is a tensor
  Bias::Kind bias = Bias::Kind::none;
  std::optional<double> soft_cap;
  double dropout = 0;
  Statistics statistics = Statistics::none();
  Shard shard = {};  // without visible counts
  std::vector<std::string> tensors;

  // The index of the tensor of this name in `tensors`; for "scale", of the first one.
  std::optional<std::size_t> place(std::string_view name) const;
  // The indices of all the scale's tensors.
  std::vector<std::size_t> scale_places() const;

  // A problem without views: map, scale and statistics are set, and sink and dropout are present if they are in the
  // spec.
  AttentionProblem without_tensors() const;
};

// An Error names what is not understood.
ISENTROPIC_API ProblemSpec spec_from_json(std::string_view text);
ISENTROPIC_API std::string to_json(const ProblemSpec& spec);

// spec_from_json, cached by text: repeated calls do not parse again.
std::shared_ptr<const ProblemSpec> cached_spec(std::string_view text);
// to_json, adding `spec` to the cache under this text so that it need not be parsed.
std::string cached_text(const ProblemSpec& spec);

// The whole vocabulary of the written form, for programs: {"scales": [...], "maps": [...], "masks": [...], ...}.
std::string vocabulary_json();

}  // namespace isentropic
