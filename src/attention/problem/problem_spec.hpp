// The written form of a problem: everything about it but its tensors, which it names. JSON both ways.
//
// All keys are optional:
//
//   "causal": true, "align": "start" | "end", "window": [left, right], "prefix": g, "strided": [stride, local],
//   "block": [block_q, block_k], "segments": n, "exclude_self": true
//   "scale": {"law": name, parameter: number | [one for each head] | "tensor", ...}
//   "map": {"name": name, option: value, ...}; a learnable option may be "tensor", as of a scale
//   "bias": "dense" | "alibi" | "relative", "soft_cap": x, "dropout": p
//   "statistics": [name, ...] | "all", "groups": [first, recent]
//   "shard": {"query_runs": [[offset, length], ...], "key_runs": likewise, "total_queries": n, "total_keys": n}
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
  Mask mask = Mask::none();                                    // without what tensors hold
  std::optional<std::pair<std::int64_t, std::int64_t>> block;  // of a layout: block_q, block_k
  Scale scale = Scale::inverse_sqrt_d();                       // with 1 in place of parameters that are tensors
  std::vector<std::size_t> scale_tensors;                      // which parameters of the law those are
  ScoreMap map = ScoreMap::softmax();                          // with the usual number for one that is a tensor
  Bias::Kind bias = Bias::Kind::none;
  std::optional<double> soft_cap;
  double dropout = 0;
  Statistics statistics = Statistics::none();
  Shard shard = {};  // without counts
  std::vector<std::string> tensors;

  // Where a tensor of this name stands; "scale": the first.
  std::optional<std::size_t> place(std::string_view name) const;
  // Where those of the scale stand.
  std::vector<std::size_t> scale_places() const;

  // A problem without views: map, scale and statistics are right, sink and dropout are there or not.
  AttentionProblem without_tensors() const;
};

// An Error says what is not understood.
ISENTROPIC_API ProblemSpec spec_from_json(std::string_view text);
ISENTROPIC_API std::string to_json(const ProblemSpec& spec);

// spec_from_json, read once for each text: calls that repeat find what was read before.
std::shared_ptr<const ProblemSpec> cached_spec(std::string_view text);
// to_json; the text finds `spec` without being read.
std::string cached_text(const ProblemSpec& spec);

// Every word of the written form, for programs: {"scales": [...], "maps": [...], "masks": [...], ...}.
std::string vocabulary_json();

}  // namespace isentropic
