// How much two groups of columns tell about each other: what is asked of the data, and what is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/read.hpp"
#include "isentropic/information/multivariate.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/significance.hpp"

namespace isentropic::experiments::mutual_information {

struct Data {
  std::string source;              // the file
  std::size_t rows_dropped = 0;    // of the file, because a cell was missing
  std::vector<std::string> notes;  // on how it was read
  io::Part x, y, given;            // y and given may have no columns
};

struct Request {
  information::InformationOptions options;
  bool estimator_chosen_by_data = false;
  int permutations = 0, halves = 0;  // 0: none
  std::uint64_t seed = 1;
  bool total_correlation = false;
};

struct Findings {
  double seconds = 0;          // of the estimate alone
  std::optional<double> nats;  // where y has columns
  std::optional<information::Significance> significance;
  std::optional<information::Interval> interval;
  std::optional<information::CorrelationReport> correlation;
  std::vector<std::string> warnings;
};

inline constexpr double kLevel = .95;  // of the interval

// Which settings an estimator looks at.
bool uses_neighbours(information::InformationEstimator estimator);
bool uses_bins(information::InformationEstimator estimator);
bool uses_entropy(information::InformationEstimator estimator);

// By the kind of values; without y, for total correlation. Text is symbols, whatever the numbers that stand for it.
information::InformationEstimator estimator_for(const Data& data);
// Error where the estimator would compare the numbers that stand for text, or where they hardly repeat.
void require_symbols_for_text(const Data& data, information::InformationEstimator estimator);

// progress receives the fraction of the work done.
Findings find(const Data& data, const Request& request, const std::function<void(double)>& progress = {});
// At most, in bytes.
std::size_t memory_needed(const Data& data);

std::string text(const Data& data, const Request& request, const Findings& findings);
nlohmann::ordered_json json(const Data& data, const Request& request, const Findings& findings);

}  // namespace isentropic::experiments::mutual_information
