// How a comparison is judged.
#include "ledger/check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace isentropic::ledger {
namespace {

constexpr double kQuotedErrors = 3;

}  // namespace

std::string short_text(double x) { return fmt::format("{:g}", x); }

bool Comparison::passed() const {
  switch (relation) {
    case Relation::near:
    case Relation::between:
      // Equal infinities count as near, although their difference is NaN.
      return measured == expected || std::abs(measured - expected) <= tolerance;
    case Relation::at_most:
      return measured <= expected + tolerance;
    case Relation::at_least:
      return measured >= expected - tolerance;
    case Relation::finite:
      return std::isfinite(measured);
    case Relation::shown:
      break;
  }
  return true;
}

bool Comparison::judged() const {
  const bool wide = relation == Relation::near && expected != 0 && tolerance >= std::abs(expected) / 2;
  return relation != Relation::shown && !wide;
}

void Check::near(const std::string& name, double measured, double expected, double tolerance) {
  comparisons_.push_back({name, Relation::near, measured, expected, tolerance});
}

void Check::near(const std::string& name, Estimate measured, double expected, double slack, double errors) {
  near(name, measured.mean, expected, slack + errors * measured.error);
}

void Check::relative(const std::string& name, double measured, double expected, double share) {
  near(name, measured, expected, share * std::abs(expected));
}

void Check::as_quoted(const std::string& name, const Mean& fresh, double quoted, std::int64_t quoted_draws,
                      double rounding) {
  const double quoted_error = fresh.deviation() / std::sqrt(static_cast<double>(quoted_draws));
  near(name, fresh.estimate(), quoted, rounding + kQuotedErrors * quoted_error);
}

void Check::as_quoted(const std::string& name, Estimate fresh, double quoted, double quoted_error) {
  near(name, fresh, quoted, kQuotedErrors * quoted_error);
}

void Check::at_most(const std::string& name, double measured, double bound, double tolerance) {
  comparisons_.push_back({name, Relation::at_most, measured, bound, tolerance});
}

void Check::at_least(const std::string& name, double measured, double bound, double tolerance) {
  comparisons_.push_back({name, Relation::at_least, measured, bound, tolerance});
}

void Check::between(const std::string& name, double measured, double low, double high) {
  comparisons_.push_back({name, Relation::between, measured, (low + high) / 2, (high - low) / 2});
}

void Check::finite(const std::string& name, double measured) {
  comparisons_.push_back({name, Relation::finite, measured, 0, 0});
}

void Check::show(const std::string& name, double value) {
  comparisons_.push_back({name, Relation::shown, value, 0, 0});
}

bool all_pass(const std::vector<Comparison>& comparisons) {
  return !any_fails(comparisons) &&
         std::any_of(comparisons.begin(), comparisons.end(), [](const Comparison& x) { return x.judged(); });
}

bool any_fails(const std::vector<Comparison>& comparisons) {
  return std::any_of(comparisons.begin(), comparisons.end(), [](const Comparison& x) { return !x.passed(); });
}

}  // namespace isentropic::ledger
