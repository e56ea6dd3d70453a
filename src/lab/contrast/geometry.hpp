// The geometry of embeddings on the unit sphere (Wang & Isola, "Understanding contrastive representation learning
// through alignment and uniformity on the hypersphere", ICML 2020), and which negatives receive the gradient.
//
//   alignment        mean |x_i - y_i|^2 over pairs of views; 0 when views agree
//   uniformity       log mean_{i != j} e^{-2 |x_i - x_j|^2}; the lower, the more evenly spread
//   effective rank   e^H of the normalised singular values (effective_rank.hpp); 1 if collapsed on a line, d if all
//                    directions are used
//   hardest share    max_j e^{s_ij / t} / sum_j e^{s_ij / t} over the negatives j != i, mean over i: the share of the
//                    negatives' gradient that the hardest one receives
//
// For two opposite unit vectors: uniformity -8, effective rank 1, mean and nearest cosine -1, hardest share 1.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json_fwd.hpp>

namespace isentropic::lab::contrast {

struct Geometry {
  double alignment = 0, uniformity = 0, effective_rank = 0;
  double mean_cosine = 0, nearest_cosine = 0;  // of different instances; nearest: with each one's nearest neighbour
  double hardest_share = 0;
};

// views, other_views: rows of unit length [n, d], n >= 2; row i of both is a view of instance i.
Geometry geometry_of(const at::Tensor& views, const at::Tensor& other_views, double temperature);

// Adds the measures to an object under their names ("alignment", ...), and reads them back.
void add_to(nlohmann::ordered_json& json, const Geometry& geometry);
Geometry geometry_from(const nlohmann::ordered_json& json);

}  // namespace isentropic::lab::contrast
