// A change of a model's attention: another scale, map or mask in every layer, the rest as it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isentropic/pytorch/attention.hpp"
#include "scan/alternatives.hpp"

namespace isentropic::lab {

struct AttentionChange {
  scan::AlternativeKind kind = scan::AlternativeKind::scale;
  std::string text = {};  // as words.hpp writes it
  // Takes the place of the model's own law, whatever that is. Where values are given, by layer one for each head, they
  // are the law's first parameter.
  std::optional<Scale> scale = {};
  std::vector<std::vector<double>> scale_values = {};
  std::optional<ScoreMap> map = {};
  // Keys must pass it beside the layer's own mask. Its prefix counts in layers without a window of their own: nothing
  // is seen that the model does not see.
  std::optional<Mask> mask = {};

  // A change from the text of an option; an Error says what is not understood, and what is known.
  static AttentionChange from_text(scan::AlternativeKind kind, const std::string& text);

  // What a layer calls attention with, changed.
  pytorch::AttentionOptions of(std::size_t layer, pytorch::AttentionOptions own) const;
  // Whether weights of the map that it has, or else of `own`, have an entropy.
  bool has_entropy(const ScoreMap& own) const;
};

// pytorch::attention, but for a prefix of causal attention: it lets no row see what comes after it.
pytorch::AttentionOutput attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const pytorch::AttentionOptions& options);

}  // namespace isentropic::lab
