// Turns SIGINT and SIGTERM into a flag that long-running work polls, so that it can save its results.
#pragma once

namespace isentropic::cli {

// From now on, signals set the flag instead of ending the program.
void note_interrupts();
bool interrupted();

}  // namespace isentropic::cli
