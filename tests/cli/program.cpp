#include "program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace cli_test {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    read = ends[0];
    write = ends[1];
  }
};

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments, double interrupt_after) {
  std::vector<char*> argv = {const_cast<char*>(ISENTROPIC_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const Pipe out, err;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::dup2(out.write, STDOUT_FILENO);
    ::dup2(err.write, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out.write);
  ::close(err.write);

  Outcome outcome;
  std::array<pollfd, 2> waiting = {pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&outcome.out, &outcome.err};
  for (int open = 2; open > 0;) {
    ::poll(waiting.data(), waiting.size(), -1);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t count = ::read(waiting[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
        if (i == 1 && interrupt_after >= 0) {
          std::this_thread::sleep_for(std::chrono::duration<double>(interrupt_after));
          ::kill(child, SIGINT);
          interrupt_after = -1;
        }
      } else {
        ::close(waiting[i].fd);
        waiting[i].fd = -1;
        --open;
      }
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace cli_test
