// Drives a reader of untrusted input with damaged inputs, and says which of them it could not bear.
//
// A reader may accept an input or throw Error with one short line. A crash, another exception, or an input that takes
// longer than ten seconds is a failure: its number is printed, and `fuzz_... 0 NUMBER` runs that input alone.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "fuzz/mutate.hpp"
#include "isentropic/error.hpp"

namespace isentropic::fuzz {

using Reader = std::function<void(const std::string& input)>;

inline constexpr unsigned kSecondsPerInput = 10;
inline constexpr std::size_t kLongestMessage = 1000;

inline volatile std::sig_atomic_t current_input = 0;

inline void say_number_and_die(int signal) {
  // Only what a signal handler may call.
  std::array<char, 24> digits;
  std::size_t at = digits.size();
  digits[--at] = '\n';
  std::sig_atomic_t rest = current_input;
  do digits[--at] = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  const std::string_view what = signal == SIGALRM ? "too slow: input " : "crash: input ";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, what.data(), what.size());
  written = ::write(STDERR_FILENO, digits.data() + at, digits.size() - at);
  ::_exit(2);
}

// Returns whether the reader accepted the input.
inline bool try_input(const std::string& input, const Reader& reader) {
  try {
    reader(input);
    return true;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.find('\n') != std::string::npos) throw std::logic_error("more than one line: " + message);
    if (message.size() > kLongestMessage) throw std::logic_error("a long message: " + message);
    return false;
  }
}

// Returns the program's exit status.
inline int run_for(double seconds, const Mutator& inputs, const Reader& reader, std::uint64_t first = 0) {
  for (const int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, say_number_and_die);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::uint64_t number = first, accepted = 0;
  try {
    do {
      current_input = static_cast<std::sig_atomic_t>(number);
      ::alarm(kSecondsPerInput);
      accepted += try_input(inputs.input(number), reader) ? 1 : 0;
      ++number;
    } while (elapsed() < seconds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "input %llu: %s\n", static_cast<unsigned long long>(number), error.what());
    return 1;
  }
  ::alarm(0);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%llu inputs in %.0f s, %llu accepted, at most %ld MB\n", static_cast<unsigned long long>(number - first),
              elapsed(), static_cast<unsigned long long>(accepted), usage.ru_maxrss / 1024);
  return accepted == 0 && seconds > 0 ? 1 : 0;  // nothing was read: the examples are no examples
}

// main() of a fuzz program: SECONDS [FIRST].
inline int run_for(int count, char** arguments, const Mutator& inputs, const Reader& reader) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: %s SECONDS [FIRST INPUT]\n", arguments[0]);
    return 2;
  }
  return run_for(std::atof(arguments[1]), inputs, reader, count == 3 ? std::strtoull(arguments[2], nullptr, 10) : 0);
}

}  // namespace isentropic::fuzz
