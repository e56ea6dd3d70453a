// Results of a study of the variational bottleneck, as JSON, as text and as a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/vib/sweep.hpp"

namespace isentropic::lab::vib {

struct MemberResult {
  Member member;
  Measures train, test;
};

struct Results {
  std::vector<MemberResult> members;  // by beta, then by seed; deterministic ones last
  std::vector<double> correlations;   // of Gaussians; empty: images
};

// {"beta", "seed", "deterministic", "train": {...}, "test": {...}}. Values that are not finite become null.
nlohmann::ordered_json to_json(const MemberResult& result);
MemberResult member_result_of(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const Results& results);

// Mean and standard deviation over the seeds of one beta.
struct Spread {
  double mean = 0, deviation = 0;  // 0 for a single value
};
struct BetaResult {
  Member member;  // the first of them
  Spread error_one, error_many, information_x, information_y, train_information_x, train_information_y;
};
std::vector<BetaResult> by_beta(const Results& results);

// The largest I(Z;Y) of codes with this I(Z;X): a point on the exact curve of gaussian_bottleneck.hpp.
double best_information_y(const std::vector<double>& correlations, double information_x);

std::string text_table(const Results& results);
std::string page(const Results& results);
std::string picture(const Results& results);  // SVG

}  // namespace isentropic::lab::vib
