// Checks of claims about trained transformers: small language models, trained in the thorough tier.
//
// Only what small models show robustly is judged; what they show about the rest of a claim is reported.
#pragma once

#include "ledger/claim.hpp"

namespace isentropic::lab {

// By the id of the claim that asks for the check (ledger::study_on_libtorch).
ledger::NetworkChecks network_checks();

}  // namespace isentropic::lab
