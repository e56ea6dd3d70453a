// SIGINT and SIGTERM as something that long work asks for, so that it can save what it has.
#pragma once

namespace isentropic::cli {

// From now on they are noted in place of ending the program.
void note_interrupts();
bool interrupted();

}  // namespace isentropic::cli
