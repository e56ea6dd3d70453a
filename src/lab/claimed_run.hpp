// A part of a study that several processes share in one folder: each works on one that no other works on.
//
//   DIR/runs/NAME.lock          locked by the process that works on NAME, for as long as it lives
//   DIR/runs/NAME.safetensors   what an interrupted one had reached (and .part-*, where it was killed while it saved)
//
// Whether a part is finished is what the study's log says. A lock may be taken just after another process has finished
// the part and removed its files, so ask the log again once it is held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lab/tensor_state.hpp"

namespace isentropic::lab {

class ClaimedRun {
 public:
  // None: another process works on it. Throws Error where the folder cannot be written.
  static std::optional<ClaimedRun> claim(const std::string& folder, const std::string& name);
  // Whether a process works on a part of the study.
  static bool any_is_held(const std::string& folder);
  // Removes what interrupted parts have left in the folder; those that a process works on stay.
  static void remove_all(const std::string& folder);

  ClaimedRun(ClaimedRun&& other) noexcept;
  ~ClaimedRun();
  ClaimedRun(const ClaimedRun&) = delete;
  ClaimedRun& operator=(const ClaimedRun&) = delete;

  void save(const NamedTensors& tensors, std::int64_t steps) const;
  // Into tensors that are in use. Returns their steps; 0: there is nothing to go on from.
  std::int64_t restore(const NamedTensors& tensors) const;
  // Removes its files, when the log has its result.
  void finish() const;

 private:
  ClaimedRun(std::string stem, int lock) : stem_(std::move(stem)), lock_(lock) {}
  std::string state_path() const;
  std::string lock_path() const;

  std::string stem_;
  int lock_;
};

}  // namespace isentropic::lab
