// Feeds damaged inputs to a reader of untrusted input and reports any that it does not survive.
//
// A reader may accept an input or throw Error with one short line. A crash, a sanitiser report, any other exception, or
// an input that takes longer than ten seconds is a failure: its number is printed, and `fuzz_NAME 0 NUMBER` runs that
// input alone.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "fuzz/mutate.hpp"
#include "isentropic/error.hpp"

namespace isentropic::fuzz {

using Reader = std::function<void(const std::string& input)>;

inline constexpr unsigned kSecondsPerInput = 10;
inline constexpr std::size_t kLongestMessage = 1000;

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

// Returns an exit status; `number` is always that of the current input.
inline int read_inputs(double seconds, const Mutator& inputs, const Reader& reader, volatile std::uint64_t* number) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::uint64_t count = 0, accepted = 0;
  try {
    for (; count == 0 || elapsed() < seconds; ++count) {
      if (count > 0) *number = *number + 1;
      ::alarm(kSecondsPerInput);  // kills the process
      accepted += try_input(inputs.input(*number), reader) ? 1 : 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  ::alarm(0);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%llu inputs in %.0f s, %llu accepted, at most %ld MB\n", static_cast<unsigned long long>(count),
              elapsed(), static_cast<unsigned long long>(accepted), usage.ru_maxrss / 1024);
  return accepted == 0 && seconds > 0 ? 1 : 0;  // nothing was accepted: the examples are not valid
}

// Runs the reader in a child process, so that any way of dying is detected. Returns an exit status.
inline int run_for(double seconds, const Mutator& inputs, const Reader& reader, std::uint64_t first = 0) {
  void* const shared =
      ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto* const number = new (shared) std::uint64_t(first);
  const pid_t child = ::fork();
  if (child < 0) return 2;
  if (child == 0) std::exit(read_inputs(seconds, inputs, reader, number));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  const bool slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  std::fprintf(stderr, "input %llu: %s\n", static_cast<unsigned long long>(*number), slow ? "too slow" : "failed");
  return 1;
}

// main() of a fuzz program; arguments: SECONDS [FIRST INPUT].
inline int run_for(int count, char** arguments, const Mutator& inputs, const Reader& reader) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: %s SECONDS [FIRST INPUT]\n", arguments[0]);
    return 2;
  }
  return run_for(std::atof(arguments[1]), inputs, reader, count == 3 ? std::strtoull(arguments[2], nullptr, 10) : 0);
}

}  // namespace isentropic::fuzz
