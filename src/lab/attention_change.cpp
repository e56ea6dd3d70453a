// Applies changes to the options of attention calls.
#include "lab/attention_change.hpp"

#include <algorithm>

#include "lab/words.hpp"

namespace isentropic::lab {
namespace {

Mask narrowed(Mask own, const Mask& by) {
  const bool has_window = own.window_part.has_value();
  if (by.window_part) {
    const Mask::Window given = *by.window_part, before = own.window_part.value_or(given);
    own.window_part = Mask::Window{std::min(given.left, before.left), std::min(given.right, before.right)};
  }
  if (!has_window) own.prefix_keys = by.prefix_keys;
  own.strided_part = by.strided_part;
  own.segment_length = by.segment_length;
  return own;
}

pytorch::AttentionOutput joined(const pytorch::AttentionOutput& first, const pytorch::AttentionOutput& rest) {
  pytorch::AttentionOutput out;
  out.output = at::cat({first.output, rest.output}, 2);
  for (const auto& [name, values] : first.statistics)
    out.statistics[name] = at::cat({values, rest.statistics.at(name)}, 2);
  return out;
}

// Options for the rows [from, from + count); a per-row scale is cut to these rows.
pytorch::AttentionOptions of_rows(pytorch::AttentionOptions options, std::int64_t from, std::int64_t count) {
  if (options.scale.is_per_row()) {
    at::Tensor& rows = options.scale_parameters.at("rows");
    rows = rows.narrow(2, from, count);
  }
  return options;
}

}  // namespace

AttentionChange AttentionChange::from_text(scan::AlternativeKind kind, const std::string& text) {
  AttentionChange out{.kind = kind, .text = text};
  if (kind == scan::AlternativeKind::scale) {
    out.scale = scale_from_text(text);
    out.text = text_of(*out.scale);
  } else if (kind == scan::AlternativeKind::map) {
    out.map = map_from_text(text);
    out.text = text_of(*out.map);
  } else {
    out.mask = mask_from_text(text);
  }
  return out;
}

pytorch::AttentionOptions AttentionChange::of(std::size_t layer, pytorch::AttentionOptions own) const {
  if (scale) {
    own.scale = *scale;
    own.scale_parameters.clear();
    if (!scale_values.empty())
      own.scale_parameters = {{scale->law().parameters.front().name, at::tensor(scale_values[layer], at::kFloat)}};
  }
  if (map) own.map = *map;
  if (mask) own.mask = narrowed(std::move(own.mask), *mask);
  return own;
}

bool AttentionChange::has_entropy(const ScoreMap& own) const {
  const ScoreMap& used = map ? *map : own;
  return used.is_distribution() && used.form() == LinearForm::quadratic;
}

// The first rows see every key up to their own, with or without a prefix; for later rows the prefix is in the past.
pytorch::AttentionOutput attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const pytorch::AttentionOptions& options) {
  const std::int64_t n = query.size(2), first = std::min(n, options.mask.prefix_keys);
  if (!options.mask.is_causal || first == 0) return pytorch::attention(query, key, value, options);
  pytorch::AttentionOptions of_first = of_rows(options, 0, first);
  of_first.mask.prefix_keys = 0;
  of_first.mask.window_part.reset();
  const pytorch::AttentionOutput begin =
      pytorch::attention(query.narrow(2, 0, first), key.narrow(2, 0, first), value.narrow(2, 0, first), of_first);
  if (first == n) return begin;
  return joined(begin,
                pytorch::attention(query.narrow(2, first, n - first), key, value, of_rows(options, first, n - first)));
}

}  // namespace isentropic::lab
