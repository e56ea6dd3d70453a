// What the closed forms demand of their arguments; Error names the argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace isentropic {

void require_positive(const std::string& name, double x);                      // finite, > 0
void require_at_least_zero(const std::string& name, double x);                 // finite, >= 0
void require_keys(const std::string& name, std::int64_t n);                    // >= 1
void require_scores(const std::string& name, std::span<const double> scores);  // not empty, all finite

}  // namespace isentropic
