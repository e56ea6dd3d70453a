// A folder for one test's files, hand-written safetensors files, and the errors bad ones cause.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/complaint.hpp"

namespace isentropic::checkpoint {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(info->test_suite_name()) + info->name() + std::to_string(::getpid());
    folder_ = std::filesystem::path(testing::TempDir()) / name;
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t file_count() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::filesystem::path folder_;
};

using support::complaint;

inline std::string little_endian(std::uint64_t number) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += static_cast<char>(number >> (8 * i));
  return out;
}

inline std::string safetensors_file(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

// "name":{"dtype":...}
inline std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                         const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

}  // namespace isentropic::checkpoint
