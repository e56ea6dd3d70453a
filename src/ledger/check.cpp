#include "ledger/check.hpp"

namespace isentropic::ledger {

bool Comparison::passed() const {
  switch (relation) {
    case Relation::near:
      // Equal infinities are near, although their difference is not a number.
      return measured == expected || std::abs(measured - expected) <= tolerance;
    case Relation::at_most:
      return measured <= expected + tolerance;
    case Relation::at_least:
      return measured >= expected - tolerance;
    case Relation::shown:
      break;
  }
  return true;
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
  near(name, fresh.estimate(), quoted, rounding + 3 * fresh.deviation() / std::sqrt(static_cast<double>(quoted_draws)));
}

void Check::at_most(const std::string& name, double measured, double bound, double tolerance) {
  comparisons_.push_back({name, Relation::at_most, measured, bound, tolerance});
}

void Check::at_least(const std::string& name, double measured, double bound, double tolerance) {
  comparisons_.push_back({name, Relation::at_least, measured, bound, tolerance});
}

void Check::between(const std::string& name, double measured, double low, double high) {
  near(name, measured, (low + high) / 2, (high - low) / 2);
}

void Check::show(const std::string& name, double value) {
  comparisons_.push_back({name, Relation::shown, value, 0, 0});
}

bool all_pass(const std::vector<Comparison>& comparisons) {
  bool judged = false;
  for (const Comparison& x : comparisons) {
    if (!x.passed()) return false;
    judged = judged || x.relation != Relation::shown;
  }
  return judged;
}

}  // namespace isentropic::ledger
