// The single list of claims.
#include <algorithm>
#include <cctype>

#include "isentropic/error.hpp"
#include "ledger/claim.hpp"

namespace isentropic::ledger {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// "63..66" and "4-7" stand for all numbers in between; anything else stands for itself.
std::vector<std::string> ids_in_range(const std::string& part) {
  for (const std::string separator : {"..", "-"}) {
    const std::size_t at = part.find(separator);
    if (at == std::string::npos) continue;
    const std::string first = part.substr(0, at), last = part.substr(at + separator.size());
    if (!is_number(first) || !is_number(last)) continue;
    std::vector<std::string> out;
    for (int x = std::stoi(first); x <= std::stoi(last); ++x) out.push_back(std::to_string(x));
    return out;
  }
  return {part};
}

bool found_by(const Claim& claim, const std::string& prefix) {
  if (claim.id.starts_with(prefix)) return true;
  const std::vector<std::string> parts = parts_of(claim.id);
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return part.starts_with(prefix); });
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::holds_if:
      return "holds-if";
    case Verdict::corrected:
      return "corrected";
    case Verdict::slip:
      return "slip";
    case Verdict::view:
      return "view";
    case Verdict::not_checked:
      return "not-checked";
    case Verdict::note:
      break;
  }
  return "note";
}

std::vector<std::string> parts_of(const std::string& id) {
  const std::size_t dash = id.find('-');
  if (dash == std::string::npos) return {id};
  std::vector<std::string> out;
  std::size_t begin = dash + 1;
  while (begin <= id.size()) {
    const std::size_t end = std::min(id.find(',', begin), id.size());
    std::string part = id.substr(begin, end - begin);
    part.erase(0, part.find_first_not_of(' '));
    for (const std::string& member : ids_in_range(part)) out.push_back(id.substr(0, dash + 1) + member);
    begin = end + 1;
  }
  return out;
}

std::vector<Claim> joined(std::initializer_list<std::vector<Claim>> lists) {
  std::vector<Claim> out;
  for (const std::vector<Claim>& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

const std::vector<Claim>& all_claims() {
  static const std::vector<Claim> claims = joined({bottleneck_claims(), robustness_claims(), entropy_claims(),
                                                   contrast_claims(), invariance_claims(), concentration_claims()});
  return claims;
}

std::vector<Claim> claims_with(const std::vector<std::string>& prefixes) {
  if (prefixes.empty()) return all_claims();
  for (const std::string& prefix : prefixes) {
    const bool found = std::any_of(all_claims().begin(), all_claims().end(),
                                   [&](const Claim& claim) { return found_by(claim, prefix); });
    if (!found) throw Error("ID-PREFIX", prefix, "the beginning of a claim's id, such as 001, 003-s or 000-10.4.6");
  }
  std::vector<Claim> out;
  for (const Claim& claim : all_claims())
    if (std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return found_by(claim, p); }))
      out.push_back(claim);
  return out;
}

std::vector<Claim> with_network_checks(std::vector<Claim> claims, const NetworkChecks& checks) {
  for (const auto& [id, check] : checks) {
    const auto asked = std::ranges::find(all_claims(), id, &Claim::id);
    if (asked == all_claims().end() || !asked->on_libtorch)
      throw Error("check of " + id, "there", "a claim made by study_on_libtorch() that asks for it");
  }
  for (Claim& claim : claims)
    if (const auto found = checks.find(claim.id); found != checks.end()) claim.check = found->second;
  return claims;
}

}  // namespace isentropic::ledger
