// Known distributions for Python: entropies, divergences, information among many variables.
#include "isentropic/information/distribution.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {
namespace {

using namespace information;

// Groups of variables, concatenated: `sizes` holds the number of variables in each.
double co_information_of_groups(const Joint& joint, const Variables& members, const Variables& sizes) {
  std::vector<Variables> groups;
  auto next = members.begin();
  for (const std::size_t size : sizes) {
    const auto end = next + static_cast<std::ptrdiff_t>(size);
    groups.emplace_back(next, end);
    next = end;
  }
  return co_information(joint, groups);
}

}  // namespace

Functions distribution_functions() {
  return {
      function("to_bits", to_bits),
      function(
          "entropy", +[](std::span<const double> p) { return entropy(p); }),
      function("kl_divergence", kl_divergence),
      function("jensen_shannon", jensen_shannon),
      function("renyi_entropy", renyi_entropy),
      function(
          "joint_entropy", +[](const Joint& joint, const Variables& of) { return entropy(joint, of); }),
      function(
          "conditional_entropy", +[](const Joint& joint, const Variables& of,
                                     const Variables& given) { return conditional_entropy(joint, of, given); }),
      function(
          "joint_mutual_information", +[](const Joint& joint, const Variables& a, const Variables& b,
                                          const Variables& given) { return mutual_information(joint, a, b, given); }),
      function("co_information_of_groups", co_information_of_groups),
      function("total_correlation", total_correlation),
      function("dual_total_correlation", dual_total_correlation),
  };
}

}  // namespace isentropic::pytorch::bindings
