// The files of studies/ledger as a JSON list embedded in the program.
#pragma once

#include <string_view>

namespace isentropic::ledger {

std::string_view embedded_studies();

}  // namespace isentropic::ledger
