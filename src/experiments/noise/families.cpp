// The families: names, strengths, and which of them the theory covers.
#include <fmt/format.h>

#include <cmath>

#include "experiments/noise/experiment.hpp"
#include "isentropic/error.hpp"

namespace isentropic::experiments::noise {
namespace {

using theory::NoiseLaw;

struct Entry {
  Family family;
  const char* name;
  const char* title;
  const char* symbol;  // of the strength
  double standard, least, most;
};

constexpr Entry kEntries[] = {
    {Family::gaussian, "gaussian", "Gaussian", "sigma", 1, 0.001, 5},
    {Family::uniform, "uniform", "Uniform", "a", 1, 0.001, 20},
    {Family::laplace, "laplace", "Laplace", "b", 0.3, 0.001, 20},
    {Family::gumbel, "gumbel", "Gumbel", "tau", 3, 0.001, 1000},
    {Family::groups, "groups", "Groups", "g", 16, 1, 64},
    {Family::values, "values", "Values", "c", 0.5, -10, 10},
};

const Entry& entry(Family family) { return kEntries[static_cast<std::size_t>(family)]; }

}  // namespace

const char* name(Family family) { return entry(family).name; }

Family family_named(const std::string& name) {
  std::string names;
  for (const Entry& x : kEntries) {
    if (name == x.name) return x.family;
    names += (names.empty() ? "" : ", ") + std::string(x.name);
  }
  throw Error("family", name.empty() ? "empty" : name, "one of " + names);
}

double standard_strength(Family family) { return entry(family).standard; }

NoiseLaw Case::law() const {
  switch (family) {
    case Family::gaussian:
      return NoiseLaw::gaussian(strength);
    case Family::uniform:
      return NoiseLaw::uniform(strength);
    case Family::laplace:
      return NoiseLaw::laplace(strength);
    case Family::gumbel:
      return NoiseLaw::gumbel(strength);
    case Family::groups:
    case Family::values:
      break;
  }
  return NoiseLaw::gaussian(1);
}

std::string Case::label() const {
  return fmt::format("{}, {} = {:g}", entry(family).title, entry(family).symbol, strength);
}

void require_meaning(const Case& noise) {
  const Entry& x = entry(noise.family);
  const std::string met = fmt::format("{:g}", noise.strength);
  if (!(noise.strength >= x.least && noise.strength <= x.most))
    throw Error("strength", met, fmt::format("{} from {:g} to {:g}", x.symbol, x.least, x.most));
  if (noise.family == Family::groups && noise.strength != std::floor(noise.strength))
    throw Error("strength", met, "a whole number of keys that share their noise");
  if (std::isinf(noise.law().exponential_moment()))
    throw Error("strength", met,
                noise.family == Family::laplace
                    ? "b < 1: for b >= 1 E e^eps is infinite and Laplace noise does not average out"
                    : "tau > 1: for tau <= 1 E e^eps is infinite and Gumbel noise does not average out");
}

std::string caution(const Case& noise) {
  const NoiseLaw law = noise.law();
  if (std::isfinite(law.variance_ratio()) || !law.rate_exponent()) return {};
  const std::string bound = noise.family == Family::laplace ? "b >= 1/2" : "tau <= 2";
  const double power = *law.rate_exponent();
  if (power <= -0.5)
    return fmt::format("{}: E e^(2 eps) is infinite for {}; slower than n^-0.5 by sqrt(log n)", noise.label(), bound);
  return fmt::format("{}: E e^(2 eps) is infinite for {}; the change falls like n^{:.3g}, slower than n^-0.5",
                     noise.label(), bound, power);
}

}  // namespace isentropic::experiments::noise
