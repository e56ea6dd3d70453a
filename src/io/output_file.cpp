// Writes next to the target and renames, so that a reader never sees a partial file.
#include "io/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& argument, const std::string& path, int error) {
  throw Error(argument, path, std::string("a file that can be written (") + std::strerror(error) + ")");
}

// The file to be written: follows links, so that a link remains a link.
fs::path target_of(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::path(path) : real;
}

bool is_special(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  return fs::exists(status) && !fs::is_regular_file(status);
}

// A random name: a killed process may have left its file, and the next process in a container has the same id.
fs::path temporary_beside(const fs::path& target) {
  return target.string() + ".part-" + std::to_string(std::random_device{}());
}

int create(const fs::path& path) { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

using Pieces = std::span<const std::string_view>;

// Returns the errno of the first failure, or 0.
int write_all(int file, Pieces pieces) {
  for (std::string_view rest : pieces) {
    while (!rest.empty()) {
      const ssize_t count = ::write(file, rest.data(), rest.size());
      if (count < 0 && errno != EINTR) return errno;
      if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  return 0;
}

volatile std::sig_atomic_t pending_signal = 0;

// Defers signals that would end the program during the lifetime of the object, then delivers the last one.
class SignalsWait {
 public:
  SignalsWait() {
    struct sigaction wait = {};
    wait.sa_handler = [](int signal) { pending_signal = signal; };
    wait.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &wait, &before_[i]);
  }
  ~SignalsWait() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    const int signal = pending_signal;
    pending_signal = 0;  // once: the program may survive it
    if (signal != 0) std::raise(signal);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_;
};

// Both return the errno of the first failure, or 0.
int write_directly(const fs::path& target, Pieces pieces) {
  const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int failure = write_all(file, pieces);
  return ::close(file) != 0 && failure == 0 ? errno : failure;
}

int write_and_rename(const fs::path& target, Pieces pieces) {
  const fs::path temporary = temporary_beside(target);
  const SignalsWait guard;
  const int file = create(temporary);
  if (file < 0) return errno;
  int failure = write_all(file, pieces);
  if (failure == 0 && ::fsync(file) != 0) failure = errno;
  if (::close(file) != 0 && failure == 0) failure = errno;
  if (failure == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) failure = errno;
  if (failure != 0) ::unlink(temporary.c_str());
  return failure;
}

}  // namespace

void check_writable(const std::string& argument, const std::string& path) {
  if (path.empty()) throw Error(argument, "empty", "the name of a file");
  const fs::path target = target_of(path);
  std::error_code error;
  if (fs::is_directory(target, error)) fail(argument, path, EISDIR);
  if (fs::exists(target, error) && ::access(target.c_str(), W_OK) != 0) fail(argument, path, errno);
  if (is_special(target)) return;
  // Only an attempt reveals read-only file systems, quotas and missing folders.
  const fs::path temporary = temporary_beside(target);
  const SignalsWait guard;
  const int file = create(temporary);
  if (file < 0) fail(argument, path, errno);
  ::close(file);
  ::unlink(temporary.c_str());
}

void write_file(const std::string& argument, const std::string& path, const std::string& text) {
  const std::string_view piece = text;
  write_file(argument, path, {&piece, 1});
}

void write_file(const std::string& argument, const std::string& path, std::span<const std::string_view> pieces) {
  const fs::path target = target_of(path);
  const int failure = is_special(target) ? write_directly(target, pieces) : write_and_rename(target, pieces);
  if (failure != 0) fail(argument, path, failure);
}

}  // namespace isentropic::io
