// The names of statistics, and sets of them.
#include "isentropic/statistics.hpp"

#include <algorithm>
#include <array>

#include "base/checks.hpp"
#include "base/list_of.hpp"
#include "base/one_line.hpp"

namespace isentropic {
namespace {

constexpr std::array kNames = {
#define ISENTROPIC_NAME(name) #name,
    ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_NAME)
#undef ISENTROPIC_NAME
};

constexpr std::uint32_t bit(Statistic statistic) { return 1u << static_cast<int>(statistic); }

constexpr std::uint32_t kGroupBits = bit(Statistic::first_mass) | bit(Statistic::recent_mass) |
                                     bit(Statistic::entropy_without_first) | bit(Statistic::mean_distance);
constexpr std::uint32_t kEveryBit = (1u << kNames.size()) - 1;

}  // namespace

const char* name(Statistic statistic) { return kNames[static_cast<std::size_t>(statistic)]; }

Statistic statistic_named(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<Statistic>(i);
  throw Error("statistic", in_quotes(name), list_of(statistic_names()));
}

const std::vector<std::string>& statistic_names() {
  static const std::vector<std::string> names(kNames.begin(), kNames.end());
  return names;
}

std::vector<std::string> group_statistic_names() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kGroupBits & bit(static_cast<Statistic>(i))) out.emplace_back(kNames[i]);
  return out;
}

Statistics Statistics::all() {
  Statistics set;
  set.bits_ = kEveryBit & ~kGroupBits;
  set.lenient_ = true;
  return set;
}

Statistics Statistics::of(std::initializer_list<Statistic> list) {
  Statistics set;
  for (Statistic statistic : list) set.bits_ |= bit(statistic);
  return set;
}

Statistics Statistics::with(Statistic statistic) const {
  Statistics set = *this;
  set.bits_ |= bit(statistic);
  return set;
}

Statistics Statistics::groups(std::int64_t first, std::int64_t recent) const {
  require_at_least("first keys", first, 0);
  require_at_least("recent keys", recent, 0);
  Statistics set = *this;
  set.bits_ |= kGroupBits;
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // sums with positions must not overflow
  set.first_ = std::min(first, kFar);
  set.recent_ = std::min(recent, kFar);
  return set;
}

bool Statistics::wants_groups() const { return (bits_ & kGroupBits) != 0; }

Statistics Statistics::intersect(std::uint32_t bits) const {
  Statistics set = *this;
  set.bits_ &= bits;
  return set;
}

const Tensor& RowStatistics::operator[](Statistic statistic) const {
  switch (statistic) {
#define ISENTROPIC_CASE(name) \
  case Statistic::name:       \
    return name;
    ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CASE)
#undef ISENTROPIC_CASE
  }
  throw Error("statistic", std::to_string(static_cast<int>(statistic)), "a Statistic");
}

Tensor& RowStatistics::operator[](Statistic statistic) {
  return const_cast<Tensor&>(static_cast<const RowStatistics&>(*this)[statistic]);
}

}  // namespace isentropic
