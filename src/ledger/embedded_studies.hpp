// The files of studies/ledger as one JSON list inside the program.
#pragma once

#include <string_view>

namespace isentropic::ledger {

std::string_view embedded_studies();

}  // namespace isentropic::ledger
