// IDX files, plain and gzipped, and the errors for bad ones.
#include "io/idx.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "isentropic/error.hpp"
#include "support/complaint.hpp"

namespace isentropic::io {
namespace {

std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& values) {
  std::string out = {0, 0, 8, static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(size >> shift);
  return out + values;
}

class IdxTest : public testing::Test {
 protected:
  // Two images of 1 x 3 pixels.
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write(kImages, idx({2, 1, 3}, "abcdef"));
    write(kLabels, idx({2}, "\x07\x09"));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  // Replaces the plain file by a gzipped one.
  void pack(const std::string& name, const std::string& bytes) {
    std::filesystem::remove(path(name));
    const gzFile file = gzopen(path(name + ".gz").c_str(), "wb");
    ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
    gzclose(file);
  }
  void expect_refusal(const std::string& words) {
    const std::string said = support::complaint([&] { read_labelled_images(folder_.string(), "train"); });
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  void expect_the_two_images() {
    const LabelledImages found = read_labelled_images(folder_.string(), "train");
    EXPECT_EQ(found.count, 2u);
    EXPECT_EQ(found.rows, 1u);
    EXPECT_EQ(found.columns, 3u);
    EXPECT_EQ(std::string(found.pixels.begin(), found.pixels.end()), "abcdef");
    EXPECT_EQ(found.labels, (std::vector<std::uint8_t>{7, 9}));
  }

  const std::string kImages = "train-images-idx3-ubyte", kLabels = "train-labels-idx1-ubyte";
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("isentropic_idx_" + std::to_string(::getpid()));
};

TEST_F(IdxTest, PlainAndPacked) {
  expect_the_two_images();
  pack(kImages, idx({2, 1, 3}, "abcdef"));
  pack(kLabels, idx({2}, "\x07\x09"));
  expect_the_two_images();
}

TEST_F(IdxTest, MissingFiles) {
  std::filesystem::remove(path(kLabels));
  expect_refusal("train-labels-idx1-ubyte is missing; expected an IDX file");
  std::filesystem::create_directory(path(kLabels));
  expect_refusal("train-labels-idx1-ubyte is missing; expected an IDX file");
}

TEST_F(IdxTest, CutOffAndTooLong) {
  const std::string whole = idx({2, 1, 3}, "abcdef");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(kImages, whole.substr(0, length));
    expect_refusal("is cut off; expected");
  }
  write(kImages, idx({2, 1, 3}, "abcdefg"));
  expect_refusal("is longer than its header says; expected 6 bytes");
}

TEST_F(IdxTest, OtherMagicNumbers) {
  write(kImages, idx({2, 3}, "abcdef"));
  expect_refusal("magic number 0x00000802; expected 0x00000803");
  write(kImages, "something else altogether");
  expect_refusal("magic number 0x736f6d65; expected 0x00000803");
}

// None of these allocates what its header promises: the test would not fit into memory.
TEST_F(IdxTest, SizesThatLie) {
  write(kImages, idx({0xffffffff, 0xffffffff, 0xffffffff}, "abcdef"));
  expect_refusal("with a size of 4294967295 in its header");
  write(kImages, idx({2, 0, 3}, "abcdef"));
  expect_refusal("with a size of 0 in its header");
  write(kImages, idx({2, 16384, 32768}, "abcdef"));
  expect_refusal("is cut off");
}

TEST_F(IdxTest, DifferentCounts) {
  write(kLabels, idx({3}, "\x07\x09\x01"));
  expect_refusal("train-labels-idx1-ubyte is of 3 labels; expected 2, one for each image");
}

TEST_F(IdxTest, DamagedArchives) {
  pack(kImages, idx({2, 1, 3}, "abcdef"));
  std::string packed;
  {
    std::ifstream in(path(kImages + ".gz"), std::ios::binary);
    packed.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t length = 12; length < packed.size(); ++length) {
    write(kImages + ".gz", packed.substr(0, length));
    const std::string said = support::complaint([&] { read_labelled_images(folder_.string(), "train"); });
    EXPECT_NE(said.find("train-images-idx3-ubyte.gz is "), std::string::npos) << length;
  }
  for (std::size_t place = 10; place < packed.size(); ++place) {
    std::string damaged = packed;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    write(kImages + ".gz", damaged);
    const std::string said = support::complaint([&] { read_labelled_images(folder_.string(), "train"); });
    EXPECT_NE(said.find("train-images-idx3-ubyte.gz is "), std::string::npos) << place;
  }
}

}  // namespace
}  // namespace isentropic::io
