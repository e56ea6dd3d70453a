// Which queries see which keys, straight from the definitions.
//
// Each query or key has a place: a document, and a position within it counted from the document's first key.
//
//   causal          j <= p_i
//   window(l, r)    p_i - l < j <= p_i + r
//   prefix(g)       keys j < g pass causal and window
//   exclude_self    j != p_i
//   excluded_keys   j != excluded_keys[i]
//   strided(s, l)   |p_i - j| < l, or s divides p_i - j
#pragma once

#include "reference/problem.hpp"

namespace reference {

constexpr Index kNowhere = -1;

struct Place {
  Index document = 0;  // kNowhere: before or after all documents; it sees nothing and nothing sees it
  Index position = 0;
};

Place query_place(const Problem& problem, Index b, Index i);
Place key_place(const Problem& problem, Index b, Index j);

// p_i - j, both counted within their document.
Index distance(const Problem& problem, Index b, Index i, Index j);

// Applies the mask, and the entries of the additive mask or the dense bias that mean "masked".
bool visible(const Problem& problem, Index b, Index h, Index i, Index j);
Index count_visible(const Problem& problem, Index b, Index h, Index i);

}  // namespace reference
