// Includes the list that CMake generates.
#include "ledger/embedded_studies.hpp"

#include "report/embed_file.hpp"

ISENTROPIC_EMBED(isentropic_stored_studies, ISENTROPIC_STORED_STUDIES_JSON)

namespace isentropic::ledger {

std::string_view embedded_studies() { return {isentropic_stored_studies_begin, isentropic_stored_studies_end}; }

}  // namespace isentropic::ledger
