// Reads and writes logs of JSON lines.
#include "lab/json_log.hpp"

#include <sys/file.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "io/output_file.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {
namespace {

std::FILE* open_to_add(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "a+");
  if (!file) throw Error(path, "not writable", "a file to write to");
  return file;
}

// A killed process may have left an incomplete line.
bool ends_within_line(std::FILE* file) {
  const bool within = std::fseek(file, -1, SEEK_END) == 0 && std::fgetc(file) != '\n';
  std::fseek(file, 0, SEEK_END);  // required between reading and writing
  return within;
}

}  // namespace

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
  file_ = open_to_add(path_);
}

JsonLog::JsonLog(std::string path) : path_(std::move(path)), file_(open_to_add(path_)), shared_(true) {}

JsonLog::~JsonLog() { std::fclose(file_); }

void JsonLog::add(const nlohmann::ordered_json& line) {
  if (shared_) flock(fileno(file_), LOCK_EX);
  const char* end_before = shared_ && ends_within_line(file_) ? "\n" : "";
  if (std::fprintf(file_, "%s%s\n", end_before, line.dump().c_str()) < 0)
    throw Error(path_, "not writable", "room on the disk");
  if (!shared_) return;
  flush();
  flock(fileno(file_), LOCK_UN);
}

void JsonLog::flush() {
  if (std::fflush(file_) != 0) throw Error(path_, "not writable", "room on the disk");
}

}  // namespace isentropic::lab
