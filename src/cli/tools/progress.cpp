// The progress line and the estimate of the remaining time.
#include "cli/tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

namespace isentropic::cli {

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

Progress::Progress(std::string command, std::size_t memory)
    : command_(std::move(command)), memory_(memory), terminal_(::isatty(STDERR_FILENO) == 1) {}

double Progress::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::expect(double seconds) {
  constexpr double kLong = 10;
  if (std::exchange(expected_, true) || seconds < kLong) return;
  clear();
  const std::string memory = memory_ > 0 ? fmt::format(" and {} MiB of memory", (memory_ >> 20) + 1) : "";
  fmt::print(stderr, "{}: takes about {}{}\n", command_, duration(seconds), memory);
}

void Progress::show(double share) {
  constexpr double kFirst = 1;  // seconds, until the speed can be estimated
  if (share > 0 && elapsed() > kFirst) expect(elapsed() / share);
  if (!terminal_) return;
  std::string line = fmt::format("{}: {:3.0f}%", command_, 100 * share);
  if (share > 0 && share < 1 && elapsed() > kFirst)
    line += fmt::format(", {} left", duration(elapsed() * (1 - share) / share));
  if (line == line_) return;  // avoids a write per step
  fmt::print(stderr, "\r{:<{}}", line, line_.size());
  std::fflush(stderr);
  line_ = line;
}

void Progress::clear() {
  if (!line_.empty()) fmt::print(stderr, "\r{:{}}\r", "", line_.size());
  line_.clear();
}

StatusLine::StatusLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

StatusLine::~StatusLine() {
  if (terminal_ && shown_) fmt::print(stderr, "\n");
}

void StatusLine::show(const std::function<std::string()>& text, bool is_last) {
  if (!is_last && Clock::now() < next_) return;
  next_ = Clock::now() + (terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(30));
  shown_ = true;
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[K" : "", text(), terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace isentropic::cli
