// Locks the parts of a study, and saves and restores their state.
#include "lab/claimed_run.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "isentropic/error.hpp"

namespace isentropic::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLock = ".lock", *kState = ".safetensors";

std::string folder_of(const std::string& study) { return study + "/runs"; }

// The names of the parts that have files in the folder.
std::set<std::string> names_in(const std::string& study) {
  std::set<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(study), error)) {
    const std::string file = entry.path().filename();
    for (const char* ending : {kLock, kState})
      if (const auto end = file.rfind(ending); end != std::string::npos) out.insert(file.substr(0, end));
  }
  return out;
}

}  // namespace

std::optional<ClaimedRun> ClaimedRun::claim(const std::string& folder, const std::string& name) {
  std::error_code error;
  ClaimedRun out(folder_of(folder) + "/" + name, -1);
  // Another process may remove the empty folder in between.
  for (int tries = 0; out.lock_ < 0 && (tries == 0 || (tries < 10 && errno == ENOENT)); ++tries) {
    fs::create_directories(folder_of(folder), error);
    out.lock_ = open(out.lock_path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  }
  if (out.lock_ < 0) throw Error(out.lock_path(), "not writable", std::strerror(errno));
  if (flock(out.lock_, LOCK_EX | LOCK_NB) == 0) return out;
  if (errno != EWOULDBLOCK) throw Error(out.lock_path(), "not lockable", std::strerror(errno));
  return {};
}

bool ClaimedRun::any_is_held(const std::string& folder) {
  return std::ranges::any_of(names_in(folder), [&](const std::string& name) { return !claim(folder, name); });
}

void ClaimedRun::remove_all(const std::string& folder) {
  for (const std::string& name : names_in(folder))
    if (const auto left = claim(folder, name)) left->finish();
}

ClaimedRun::ClaimedRun(ClaimedRun&& other) noexcept
    : stem_(std::move(other.stem_)), lock_(std::exchange(other.lock_, -1)) {}

ClaimedRun::~ClaimedRun() {
  if (lock_ >= 0) close(lock_);  // which unlocks it
}

void ClaimedRun::save(const NamedTensors& tensors, std::int64_t steps) const {
  save_tensors(state_path(), tensors, steps);
}

std::int64_t ClaimedRun::restore(const NamedTensors& tensors) const {
  return fs::exists(state_path()) ? restore_tensors(state_path(), tensors) : 0;
}

void ClaimedRun::finish() const {
  std::error_code error;
  const fs::path state = state_path(), runs = state.parent_path();
  for (const auto& entry : fs::directory_iterator(runs, error))  // the state, and partly written ones
    if (entry.path().filename().string().starts_with(state.filename().string())) fs::remove(entry.path(), error);
  fs::remove(lock_path(), error);
  fs::remove(runs, error);  // fails unless it is empty
}

std::string ClaimedRun::state_path() const { return stem_ + kState; }
std::string ClaimedRun::lock_path() const { return stem_ + kLock; }

}  // namespace isentropic::lab
