// One part of a study whose folder several processes share: each part is processed by one of them at a time.
//
//   DIR/runs/NAME.lock          locked by the process that works on NAME, for as long as it lives
//   DIR/runs/NAME.safetensors   the state of an interrupted part (and .part-*, if the process was killed while saving)
//
// The study's log records which parts are finished. A lock may be acquired just after another process has finished the
// part and removed its files, so check the log again once the lock is held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lab/tensor_state.hpp"

namespace isentropic::lab {

class ClaimedRun {
 public:
  // Empty if another process works on the part. Throws Error if the folder cannot be written.
  static std::optional<ClaimedRun> claim(const std::string& folder, const std::string& name);
  // Whether any process works on a part of the study.
  static bool any_is_held(const std::string& folder);
  // Removes the files of interrupted parts; those that a process works on stay.
  static void remove_all(const std::string& folder);

  ClaimedRun(ClaimedRun&& other) noexcept;
  ~ClaimedRun();
  ClaimedRun(const ClaimedRun&) = delete;
  ClaimedRun& operator=(const ClaimedRun&) = delete;

  void save(const NamedTensors& tensors, std::int64_t steps) const;
  // Copies the saved state into `tensors` and returns its number of steps; 0 if nothing is saved.
  std::int64_t restore(const NamedTensors& tensors) const;
  // Removes the part's files; call it once the log has the result.
  void finish() const;

 private:
  ClaimedRun(std::string stem, int lock) : stem_(std::move(stem)), lock_(lock) {}
  std::string state_path() const;
  std::string lock_path() const;

  std::string stem_;
  int lock_;
};

}  // namespace isentropic::lab
