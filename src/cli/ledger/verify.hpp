// isentropic verify, in both programs: the one with libtorch also trains the networks that some claims need.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "ledger/claim.hpp"

namespace isentropic::cli {

struct VerifyProgram {
  ledger::NetworkChecks network_checks = {};
  // Called if some claims to check need networks that this program cannot train. It may start the program that can, and
  // not return.
  std::function<void()> hand_over = nullptr;
};

void add_verify(CLI::App& program, const VerifyProgram& does);

}  // namespace isentropic::cli
