// An untrained network on all 4096 inputs of 12 signs: layers of 10, 7, 5, 4, 3 units, weights normal with deviation
// 1/sqrt(inputs of the layer) truncated at two deviations, no bias.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

enum class Unit : std::uint8_t { tanh, relu, linear };

std::string name(Unit unit);
double apply(Unit unit, double x);
// Standard normal, truncated at two deviations.
double cut_normal(Random& random);

inline constexpr std::size_t kLayers = 5;

// The activations of every layer, one input per row.
std::vector<information::Table> random_network(Unit unit, Random& random);

}  // namespace isentropic::experiments::tools
