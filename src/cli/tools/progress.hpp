// Long work: what it will take is said once, before it starts or as soon as it is known; on a terminal a line that is
// overwritten shows how far it has come. All on standard error; short work says nothing elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace isentropic::cli {

class Progress {
 public:
  // `memory`: what the work will need at most, in bytes; 0: little, or said already.
  explicit Progress(std::string command, std::size_t memory = 0);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The whole work will take about this long: one line on standard error if that is long. Only the first call counts.
  void expect(double seconds);
  // This share of the work, 0 ... 1, is done.
  void show(double share);
  // Removes the line, so that others can be printed.
  void clear();

 private:
  double elapsed() const;

  std::string command_;
  std::size_t memory_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_;
  bool expected_ = false;
  std::string line_;  // on the terminal
};

// A status for long runs: overwritten twice a second on a terminal, a new line every half minute elsewhere.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();  // ends the line
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Calls `text` and prints it if a line is due, as the first one is, or if this is the last.
  void show(const std::function<std::string()>& text, bool is_last);

 private:
  using Clock = std::chrono::steady_clock;

  const bool terminal_;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now();
};

// "8 s", "5 min", "2.5 h", "4 days".
std::string duration(double seconds);

}  // namespace isentropic::cli
