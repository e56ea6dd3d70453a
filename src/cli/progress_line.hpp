// One line on a terminal that is overwritten as work proceeds; silent elsewhere.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

namespace isentropic::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string command) : command_(std::move(command)) {}
  ~ProgressLine() { clear(); }
  void show(double share) {
    if (!terminal_) return;
    fmt::print(stderr, "\r{}: {:3.0f}%", command_, 100 * share);
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r{:{}}\r", "", command_.size() + 6);
    shown_ = false;
  }

 private:
  std::string command_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

}  // namespace isentropic::cli
