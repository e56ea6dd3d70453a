// Files are complete or absent, and an unwritable path is reported before the work starts.
#include "io/output_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / ("output_file_" + test + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(OutputFile, IsWrittenAndReplaced) {
  check_writable("--json", path("a"));
  EXPECT_EQ(files(), 0);  // checking leaves nothing behind
  write_file("--json", path("a"), "one");
  EXPECT_EQ(read(path("a")), "one");
  check_writable("--json", path("a"));
  EXPECT_EQ(read(path("a")), "one");
  write_file("--json", path("a"), std::string(1 << 20, 'x'));
  EXPECT_EQ(read(path("a")).size(), 1u << 20);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, PiecesFollowOneAnother) {
  const std::string large(1 << 20, 'x');
  const std::vector<std::string_view> pieces = {"head", "", std::string_view(), large, "tail"};
  write_file("--json", path("a"), pieces);
  EXPECT_EQ(read(path("a")), "head" + large + "tail");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, BadPathsNameTheArgument) {
  fs::create_directory(path("folder"));
  for (const std::string& bad : {path("missing/a"), path("folder"), std::string()}) {
    SCOPED_TRACE(bad);
    try {
      check_writable("--svg", bad);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("--svg is ", 0), 0u) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_THROW(write_file("--svg", path("missing/a"), "x"), Error);
  EXPECT_THROW(write_file("--svg", path("folder"), "x"), Error);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, LinksStayLinks) {
  write_file("-o", path("real"), "old");
  fs::create_symlink(path("real"), path("link"));
  write_file("-o", path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("real")), "new");
}

TEST_F(OutputFile, DevicesAreWrittenDirectly) {
  check_writable("-o", "/dev/null");
  write_file("-o", "/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// Left by a process killed while writing, in a container where the next process has the same id.
TEST_F(OutputFile, AnUnfinishedTemporaryOfOthersIsNeitherTouchedNorInTheWay) {
  const std::string temporary = path("a") + ".part-" + std::to_string(::getpid());
  std::ofstream(temporary) << "not ours";
  check_writable("-o", path("a"));
  write_file("-o", path("a"), "x");
  EXPECT_EQ(read(path("a")), "x");
  EXPECT_EQ(read(temporary), "not ours");
}

}  // namespace
}  // namespace isentropic::io
