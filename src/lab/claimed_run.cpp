// Locks parts of a study, and keeps what they have reached.
#include "lab/claimed_run.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "isentropic/error.hpp"

namespace isentropic::lab {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& study) { return study + "/runs"; }

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

void ClaimedRun::remove_all(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(folder), error))
    if (const auto type = entry.path().extension(); type == ".lock" || type == ".safetensors")
      fs::remove(entry.path(), error);
  fs::remove(folder_of(folder), error);  // where nothing else is in it
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
  fs::remove(state_path(), error);
  fs::remove(lock_path(), error);
  fs::remove(fs::path(stem_).parent_path(), error);  // where it was the last
}

}  // namespace isentropic::lab
