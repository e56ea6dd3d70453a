// Chooses the estimator: which ones the data allow, and which suits them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "experiments/mutual_information/findings.hpp"
#include "isentropic/error.hpp"

namespace isentropic::experiments::mutual_information {
namespace {

using information::InformationEstimator;
using information::Table;

std::size_t distinct_rows(const Table& table) {
  std::set<std::vector<double>> rows;
  for (std::size_t r = 0; r < table.rows; ++r) rows.emplace(table.row(r).begin(), table.row(r).end());
  return rows.size();
}

bool is_symbols(const io::Part& part) {
  return !part.text.empty() ||
         information::suitable_estimator(part.table, part.table) == InformationEstimator::discrete;
}

// `mixed` treats the variable with fewer distinct rows as the symbols: it must be the one with text.
bool mixed_sees_symbols(const Data& data) {
  if (!data.x.text.empty() && !data.y.text.empty()) return false;
  const std::size_t x = distinct_rows(data.x.table), y = distinct_rows(data.y.table);
  return data.x.text.empty() ? y < x : x <= y;
}

bool has_text(const Data& data) { return !data.x.text.empty() || !data.y.text.empty() || !data.given.text.empty(); }

InformationEstimator estimator_beside_text(const Data& data) {
  const bool points = !is_symbols(data.x) || (data.y.table.columns > 0 && !is_symbols(data.y));
  const bool mixed = points && data.y.table.columns > 0 && data.given.table.columns == 0 && mixed_sees_symbols(data);
  return mixed ? InformationEstimator::mixed : InformationEstimator::discrete;
}

}  // namespace

bool uses_neighbours(InformationEstimator estimator) {
  return estimator == InformationEstimator::ksg1 || estimator == InformationEstimator::ksg2 ||
         estimator == InformationEstimator::mixed || estimator == InformationEstimator::mesner_shalizi;
}
bool uses_bins(InformationEstimator estimator) {
  return estimator == InformationEstimator::binned || estimator == InformationEstimator::equal_mass;
}
bool uses_entropy(InformationEstimator estimator) {
  return uses_bins(estimator) || estimator == InformationEstimator::discrete;
}

InformationEstimator estimator_for(const Data& data) {
  if (has_text(data)) return estimator_beside_text(data);
  if (data.y.table.columns > 0) return information::suitable_estimator(data.x.table, data.y.table, data.given.table);
  return information::suitable_estimator(data.x.table, data.x.table);  // never mixed: both are symbols or neither
}

void require_symbols_for_text(const Data& data, InformationEstimator estimator) {
  for (const auto& [argument, part] : {std::pair{"--x", &data.x}, {"--y", &data.y}, {"--given", &data.given}}) {
    if (part->text.empty()) continue;
    const std::size_t rows = part->table.rows, distinct = distinct_rows(part->table);
    if (2 * distinct > rows)
      throw Error(fmt::format("{}, with text in column {},", argument, fmt::join(part->text, ", ")),
                  fmt::format("different in {} of {} rows", distinct, rows), "categories that repeat");
    const bool fits = estimator == InformationEstimator::discrete ||
                      (estimator == InformationEstimator::mixed && mixed_sees_symbols(data));
    if (!fits)
      throw Error("--estimator", name(estimator) + fmt::format(", for text in column {}", fmt::join(part->text, ", ")),
                  "discrete, or mixed if the other variable holds numbers with more distinct values");
  }
  if (!has_text(data) || estimator != InformationEstimator::discrete) return;
  for (const auto& [argument, part] : {std::pair{"--x", &data.x}, {"--y", &data.y}, {"--given", &data.given}})
    if (part->table.columns > 0 && 2 * distinct_rows(part->table) > part->table.rows)
      throw Error(argument, "numbers that hardly repeat, beside text",
                  "values that repeat; no estimator takes points and text here");
}

}  // namespace isentropic::experiments::mutual_information
