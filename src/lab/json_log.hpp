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
  // Removes the lines after `steps`: they belong to a part of the run that was lost.
  JsonLog(std::string path, std::int64_t steps);
  // Removes none; other processes may add lines at the same time.
  explicit JsonLog(std::string path);
  ~JsonLog();
  JsonLog(const JsonLog&) = delete;
  JsonLog& operator=(const JsonLog&) = delete;

  // Throws Error if writing fails, as does flush().
  void add(const nlohmann::ordered_json& line);
  void flush();

 private:
  std::string path_;
  std::FILE* file_;
  bool shared_ = false;
};

// The lines of a log, without incomplete ones.
std::vector<nlohmann::ordered_json> read_log(const std::string& path);

}  // namespace isentropic::lab
