// Attention whose scores no kernel computes: scaled by the distance of a key, or by the entropy of the row.
//
// Functions for ForwardOptions::attention. Statistics: the entropy of rows, if requested.
#pragma once

#include <cstddef>

#include "isentropic/pytorch/attention.hpp"

namespace isentropic::lab::length {

// Causal attention with the scores a_t s + m_t of a key t tokens back, s = q.k/sqrt d (Anson, Wang & Aitchison 2025).
// For normal s of variance 1 the weight e^{a_t s + m_t} of a key then has the mean e^{1/2}/(1 + t/10), so that every
// range [t, c t] of distances has the same share, and x e^x, x = a_t s + m_t, has a mean that falls in the same way:
//
//   a_t = sqrt(2 log(1 + t/10) + 1),   m_t = 1 - a_t^2        (a_0 = 1, m_0 = 0)
//
// Scores are materialised for a sixteenth of the rows, or 128 if that is more, at a time.
pytorch::AttentionOutput scale_invariant_attention(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value, const pytorch::AttentionOptions& options);

// The scale theta(H)/sqrt d, where H is the entropy of the row under the model's own scale (Velickovic et al. 2024):
//
//   theta = max(1, -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791) for H > 0.5, else 1     (H = 2: 2.099)
//
// The polynomial was fitted by its authors on their task; it is used here as published.
pytorch::AttentionOutput adaptive_attention(std::size_t layer, const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& value, const pytorch::AttentionOptions& options);
at::Tensor adaptive_factor(const at::Tensor& entropy);

}  // namespace isentropic::lab::length
