// Progress of long work. Its cost is announced once, before it starts or as soon as it is known; on a terminal, a line
// that is overwritten shows the progress. All on standard error; short work prints nothing except on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace isentropic::cli {

class Progress {
 public:
  // `memory`: peak memory in bytes; 0: little, or already announced.
  explicit Progress(std::string command, std::size_t memory = 0);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Announces the estimated duration on standard error if it is long. Only the first call counts.
  void expect(double seconds);
  // Reports the fraction of the work done, in [0, 1].
  void show(double share);
  // Removes the line, so that other output can be printed.
  void clear();

 private:
  double elapsed() const;

  std::string command_;
  std::size_t memory_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_;
  bool expected_ = false;
  std::string line_;  // as shown on the terminal
};

// The status of a long run: overwritten twice a second on a terminal; elsewhere a new line every half minute.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();  // ends the line
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Calls `text` and prints the result if a line is due; the first and the last always are.
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
