// Checks of claims that speak of trained transformers: small language models, trained in the thorough tier.
//
// What small models show robustly is judged; what they show of the rest of a claim is shown.
#pragma once

#include "ledger/claim.hpp"

namespace isentropic::lab {

// By the id of the claim that asks for it (ledger::study_on_libtorch).
ledger::NetworkChecks network_checks();

}  // namespace isentropic::lab
