// The forward pass in double, with everything materialised.
#pragma once

#include <map>
#include <string>

#include "reference/problem.hpp"
#include "reference/scores.hpp"

namespace reference {

struct Forward {
  Numbers output;                             // [batch, heads, n_q, d_v]
  Numbers weights;                            // [batch, heads, n_q, n_k], before dropout, sink included
  Numbers key_mass;                           // [batch, heads, n_k], column sums of the weights
  Numbers lambda;                             // [batch, heads, n_q]
  std::vector<Index> visible;                 // [batch, heads, n_q]
  std::vector<Reach> reach;                   // [batch, heads, n_q], for target entropies
  std::vector<std::vector<Index>> selected;   // [batch, heads, n_q]: the chosen keys, ascending
  std::map<std::string, Numbers> statistics;  // name -> [batch, heads, n_q]; only those the map defines
};

Forward forward(const Problem& problem);

// E[(s - max s)^2] under the row's softmax: the scale of the variance's error.
Numbers second_moments(const Problem& problem);

}  // namespace reference
