// A change to a model's attention: another scale, map or mask in every layer, everything else unchanged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isentropic/pytorch/attention.hpp"
#include "scan/alternatives.hpp"

namespace isentropic::lab {

struct AttentionChange {
  scan::AlternativeKind kind = scan::AlternativeKind::scale;
  std::string text = {};  // in the notation of words.hpp
  // Replaces the model's own law, whatever it is. Values, if given, are its first parameter, by layer and head.
  std::optional<Scale> scale = {};
  std::vector<std::vector<double>> scale_values = {};
  std::optional<ScoreMap> map = {};
  // Keys must pass it in addition to the layer's own mask. Its prefix applies only in layers without a window of their
  // own, so that no key becomes visible that the model does not see.
  std::optional<Mask> mask = {};

  // Parses the text of an option; an Error names what was not understood and what is accepted.
  static AttentionChange from_text(scan::AlternativeKind kind, const std::string& text);

  // The options of a layer's attention call, with the change applied.
  pytorch::AttentionOptions of(std::size_t layer, pytorch::AttentionOptions own) const;
  // Whether the weights have an entropy under its map, or under `own` if it has none.
  bool has_entropy(const ScoreMap& own) const;
};

// pytorch::attention, except for the prefix of a causal mask: it never lets a row see later keys.
pytorch::AttentionOutput attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const pytorch::AttentionOptions& options);

}  // namespace isentropic::lab
