// Starts the program with pipes or a pseudo-terminal and collects its output.
#include "program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace cli_test {
namespace {

namespace fs = std::filesystem;

struct Pipe {
  int read = -1, write = -1;
  explicit Pipe(bool terminal = false) {
    int ends[2];
    if (terminal ? ::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0 : ::pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    read = ends[0];
    write = ends[1];
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
};

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments, const Surroundings& around) {
  std::vector<char*> argv = {const_cast<char*>(ISENTROPIC_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const Pipe out, err(around.terminal);
  double interrupt_after = around.interrupt_after;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    const std::string& file = around.standard_output;
    ::dup2(file.empty() ? out.write : ::open(file.c_str(), O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
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

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

void expect_one_line_error(const Outcome& outcome, int status, const std::string& part) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("isentropic: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

void Program::SetUp() {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  folder_ = fs::path(testing::TempDir()) / ("program_" + test + std::to_string(::getpid()));
  fs::create_directories(folder_);
}

void Program::TearDown() { fs::remove_all(folder_); }

std::ptrdiff_t Program::files() const {
  return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
}

}  // namespace cli_test
