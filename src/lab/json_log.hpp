// A log of JSON lines, each with the step that it belongs to: {"step": 1, "loss": 8.3, ...}.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::lab {

class JsonLog {
 public:
  // Lines after `steps` are of a part of the run that was lost: they are removed.
  JsonLog(std::string path, std::int64_t steps);
  // None is removed, and other processes may add lines at the same time.
  explicit JsonLog(std::string path);
  ~JsonLog();
  JsonLog(const JsonLog&) = delete;
  JsonLog& operator=(const JsonLog&) = delete;

  // Throws Error when something could not be written, as flush() does.
  void add(const nlohmann::ordered_json& line);
  void flush();

 private:
  std::string path_;
  std::FILE* file_;
  bool shared_ = false;
};

// The lines of a log, without those that are not whole.
std::vector<nlohmann::ordered_json> read_log(const std::string& path);

}  // namespace isentropic::lab
