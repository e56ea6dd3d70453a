// How much two groups of columns tell about each other: the request and the findings.
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
  std::size_t rows_dropped = 0;    // from the file, because a cell was missing
  std::vector<std::string> notes;  // on how the file was read
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
  double seconds = 0;          // for the estimate alone
  std::optional<double> nats;  // present if y has columns
  std::optional<information::Significance> significance;
  std::optional<information::Interval> interval;
  std::optional<information::CorrelationReport> correlation;
  std::vector<std::string> warnings;
};

inline constexpr double kLevel = .95;  // of the interval

// The settings that an estimator depends on.
bool uses_neighbours(information::InformationEstimator estimator);
bool uses_bins(information::InformationEstimator estimator);
bool uses_entropy(information::InformationEstimator estimator);

// Chosen by the kind of values; if y is empty, for total correlation. Text counts as symbols, however it is encoded.
information::InformationEstimator estimator_for(const Data& data);
// Throws Error if the estimator would compare the numbers that encode text, or if they hardly repeat.
void require_symbols_for_text(const Data& data, information::InformationEstimator estimator);

// progress receives the fraction of the work done.
Findings find(const Data& data, const Request& request, const std::function<void(double)>& progress = {});
// Upper bound, in bytes.
std::size_t memory_needed(const Data& data);

std::string text(const Data& data, const Request& request, const Findings& findings);
nlohmann::ordered_json json(const Data& data, const Request& request, const Findings& findings);

}  // namespace isentropic::experiments::mutual_information
