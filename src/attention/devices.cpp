// The device registry: one table of passes per kind.
#include "attention/devices.hpp"

#include <array>
#include <atomic>

#include "attention/cpu/cpu_passes.hpp"

namespace isentropic {
namespace {

std::atomic<const Passes*>& table_of(Device::Kind kind) {
  static std::array<std::atomic<const Passes*>, 2> tables = {&cpu_passes(), nullptr};  // in the order of Device::Kind
  return tables[static_cast<std::size_t>(kind)];
}

}  // namespace

void set_passes(Device::Kind kind, const Passes* passes) { table_of(kind) = passes; }

const Passes& passes_for(const AttentionProblem& problem) {
  const Device& device = problem.query.device;
  const Passes* passes = table_of(device.kind);
  if (!passes) throw Error("device", to_string(device), "one that this library has kernels for");
  return *passes;
}

}  // namespace isentropic
