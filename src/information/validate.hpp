// What the estimators demand of their input; Error names the argument.
#pragma once

#include <span>
#include <string>

namespace isentropic {

// Non-negative, finite, not empty, sum 1 within 1e-9.
void require_distribution(const std::string& name, std::span<const double> p);

}  // namespace isentropic
