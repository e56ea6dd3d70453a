// The texts that the claims come from, and where in them each claim is found.
#pragma once

#include <string>
#include <vector>

#include "ledger/claim.hpp"

namespace isentropic::ledger {

struct Source {
  std::string id;       // "001", the prefix of its claims' ids
  std::string subject;  // "robustness and entropy"
  std::string text;     // title, language, kind
  std::string address;  // where it is published; may be empty

  std::string name() const { return id + " " + subject; }
};

const std::vector<Source>& sources();
// Throws Error for a claim that belongs to no source.
const Source& source_of(const Claim& claim);

// 001-16 -> "section 3, equation (16)"; 000-thm10.4.3a -> "section 10.4.2, theorem 10.4.3"; 001-P1 -> "post, formula
// 1".
std::string place_of(const Claim& claim);

}  // namespace isentropic::ledger
