// Looks up numbers.
#include "scan/head_values.hpp"

#include <set>

#include "scan/slope.hpp"

namespace isentropic::scan {

std::vector<Term> terms_of(const std::vector<const Result*>& results) {
  std::set<std::string> names;
  for (const Result* result : results) {
    for (const HeadResult& head : result->heads) {
      for (const auto& [name, value] : head.statistics) names.insert(name);
      if (head.nearest) names.insert(kSimilarity);
    }
    if (result->lengths.size() > 1) names.insert(kSlope);
  }
  std::vector<Term> out;
  for (const Term& known : terms())
    if (names.erase(known.name) > 0) out.push_back(known);
  for (const std::string& name : names) out.push_back(term(name));
  return out;
}

Spread value_of(const Result& result, const HeadResult& head, const std::string& name) {
  if (name == kSimilarity) return {head.nearest ? head.nearest->similarity : kNotMeasured, 0};
  if (name == kSlope) return {entropy_slope(result.lengths, head.length_entropies), 0};
  const auto found = head.statistics.find(name);
  return found == head.statistics.end() ? Spread{kNotMeasured, 0} : found->second;
}

}  // namespace isentropic::scan
