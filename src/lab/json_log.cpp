// Reads and writes logs of JSON lines.
#include "lab/json_log.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "io/output_file.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {

std::vector<nlohmann::ordered_json> read_log(const std::string& path) {
  std::vector<nlohmann::ordered_json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (json.is_object()) out.push_back(std::move(json));
  }
  return out;
}

JsonLog::JsonLog(std::string path, std::int64_t steps) : path_(std::move(path)) {
  std::string kept;
  for (const auto& line : read_log(path_))
    if (line.value("step", steps + 1) <= steps) kept += line.dump() + "\n";
  io::write_file(path_, path_, kept);
  file_ = std::fopen(path_.c_str(), "a");
  if (!file_) throw Error(path_, "not writable", "a file to write to");
}

JsonLog::~JsonLog() { std::fclose(file_); }

void JsonLog::add(const nlohmann::ordered_json& line) {
  if (std::fprintf(file_, "%s\n", line.dump().c_str()) < 0) throw Error(path_, "not writable", "room on the disk");
}

void JsonLog::flush() {
  if (std::fflush(file_) != 0) throw Error(path_, "not writable", "room on the disk");
}

}  // namespace isentropic::lab
