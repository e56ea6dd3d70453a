// Records SIGINT and SIGTERM.
#include "cli/tools/interrupts.hpp"

#include <csignal>

namespace isentropic::cli {
namespace {

volatile std::sig_atomic_t noted = 0;
extern "C" void note(int) { noted = 1; }

}  // namespace

void note_interrupts() {
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

bool interrupted() { return noted != 0; }

}  // namespace isentropic::cli
