// One claim of the sources about attention and information, and how it is judged.
//
// Ids follow the sources: 001-16 is equation (16) of source 001, 001-s13b a statement of its section 13, 000-thm10.4.3a
// the first statement of theorem 10.4.3. A compound id such as 001-19,20 is a single entry.
//
//   000  information theory of deep learning     001  robustness and entropy of attention
//   002  contrast, InfoNCE and attention         003  the entropy-invariant scale         004  sparsity of attention
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "ledger/check.hpp"

namespace isentropic::ledger {

enum class Verdict : std::uint8_t {
  holds,
  holds_if,     // true under the condition in `use`, false in general
  corrected,    // wrong as printed; `use` gives the correct form
  slip,         // a slip of the pen that does not change the substance
  view,         // an interpretation: nothing to compute
  not_checked,  // advice, or a statement that no computation here can settle
  note          // added to the sources: a caution, an open question with its measured answer
};

const char* name(Verdict verdict);  // "holds-if"

// Whether a claim has a check, and if not, why.
enum class Standing : std::uint8_t {
  computed,    // it has one
  definition,  // it is a definition: nothing can fail
  listed,      // slip, view, not_checked or note
  study        // it is about trained networks: a stored study (study.hpp), and a check in the thorough tier
};

struct Claim {
  std::string id;
  std::string statement;  // one line, in our words
  Verdict verdict = Verdict::holds;
  std::string use;  // the corrected form, the condition, or a remark; may be empty
  Standing standing = Standing::computed;
  CheckFunction check = nullptr;
  // The check is supplied by the program with libtorch (with_network_checks).
  bool on_libtorch = false;

  bool is_checked(Effort effort) const {
    return check != nullptr && (standing != Standing::study || effort == Effort::thorough);
  }
  // Whether the check must fail in the printed reading: for corrected and conditional claims.
  bool fails_as_printed() const { return verdict == Verdict::corrected || verdict == Verdict::holds_if; }
};

inline Claim computed(std::string id, Verdict verdict, std::string statement, std::string use, CheckFunction check) {
  return {std::move(id), std::move(statement), verdict, std::move(use), Standing::computed, check};
}
inline Claim definition(std::string id, std::string statement, std::string use = "") {
  return {std::move(id), std::move(statement), Verdict::holds, std::move(use), Standing::definition, nullptr};
}
inline Claim listed(std::string id, Verdict verdict, std::string statement, std::string use = "") {
  return {std::move(id), std::move(statement), verdict, std::move(use), Standing::listed, nullptr};
}
// Small networks prove nothing about networks in general: their behaviour is shown, and the verdict stays open.
inline Claim study(std::string id, std::string statement, std::string use, CheckFunction check) {
  return {std::move(id), std::move(statement), Verdict::not_checked, std::move(use), Standing::study, check};
}
inline Claim study_on_libtorch(std::string id, std::string statement, std::string use) {
  Claim out = study(std::move(id), std::move(statement), std::move(use), nullptr);
  out.on_libtorch = true;
  return out;
}

// Concatenates lists of claims.
std::vector<Claim> joined(std::initializer_list<std::vector<Claim>> lists);

// Every claim, in the order of the sources.
const std::vector<Claim>& all_claims();
// Those whose id, or the id of one of whose parts, starts with one of the prefixes; all if there are none. Throws Error
// naming a prefix that matches nothing.
std::vector<Claim> claims_with(const std::vector<std::string>& prefixes);
// Adds the checks that train networks on libtorch, by id. Throws Error for a check that no claim needs.
using NetworkChecks = std::map<std::string, CheckFunction>;
std::vector<Claim> with_network_checks(std::vector<Claim> claims, const NetworkChecks& checks);
// The ids that a compound id stands for: 001-19,20 -> 001-19, 001-20; 001-63..66 -> 001-63, ..., 001-66.
std::vector<std::string> parts_of(const std::string& id);

// The claims of each subfolder.
std::vector<Claim> bottleneck_claims();     // 000
std::vector<Claim> robustness_claims();     // 001: noise, Lipschitz bounds, attacks
std::vector<Claim> entropy_claims();        // 001: entropy, temperature, geometry, heads, spectrum, positions
std::vector<Claim> contrast_claims();       // 002
std::vector<Claim> invariance_claims();     // 003
std::vector<Claim> concentration_claims();  // 004

}  // namespace isentropic::ledger
