// MATLAB files: matrices of all types, compressed and not, in both byte orders; and damaged files.
#include "io/mat.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

std::string header(const char* order = "IM") {
  std::string out(124, ' ');
  out.replace(0, 10, "MATLAB 5.0");
  return out + (order[0] == 'I' ? std::string("\x00\x01", 2) : std::string("\x01\x00", 2)) + order;
}

template <class T>
std::string bytes_of(T number, bool big = false) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &number, sizeof(T));
  return big ? std::string(out.rbegin(), out.rend()) : out;
}

std::string element(std::uint32_t type, const std::string& data, bool big = false) {
  return bytes_of(type, big) + bytes_of(static_cast<std::uint32_t>(data.size()), big) + data +
         std::string((8 - data.size() % 8) % 8, '\0');
}

// Column-major, in numbers of type T (number `type` of the format).
template <class T>
std::string matrix(std::uint32_t type, int rows, int columns, const std::vector<double>& values, bool big = false,
                   std::uint32_t flags = 6) {
  std::string numbers;
  for (const double x : values) numbers += bytes_of(static_cast<T>(x), big);
  const std::string body = element(6, bytes_of(flags, big) + bytes_of(std::uint32_t{0}, big), big) +
                           element(5, bytes_of(rows, big) + bytes_of(columns, big), big) + element(1, "name", big) +
                           element(type, numbers, big);
  return element(14, body, big);
}

std::string compressed(const std::string& inner) {
  std::string out(compressBound(inner.size()), '\0');
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(inner.data()), inner.size());
  out.resize(size);
  return bytes_of(std::uint32_t{15}) + bytes_of(static_cast<std::uint32_t>(size)) + out;
}

class MatFile : public testing::Test {
 protected:
  std::vector<NamedMatrix> read(const std::string& contents) {
    std::ofstream(path_, std::ios::binary) << contents;
    return read_mat(path_);
  }
  std::string error_of(const std::string& contents) {
    try {
      read(contents);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ =
      testing::TempDir() + "isentropic_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".mat";
  const std::vector<double> numbers_ = {1, 2, 3, 4, 5, 6};
};

TEST_F(MatFile, NumbersStandByColumn) {
  const auto found = read(header() + matrix<double>(9, 2, 3, numbers_));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "name");
  EXPECT_EQ(found[0].table.rows, 2u);
  EXPECT_EQ(found[0].table.values, (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

TEST_F(MatFile, AllTypesAndBothOrders) {
  const std::vector<double> expected = {1, 4, 2, 5, 3, 6};
  const std::string all = matrix<std::int8_t>(1, 3, 2, numbers_) + matrix<std::uint8_t>(2, 3, 2, numbers_) +
                          matrix<std::int16_t>(3, 3, 2, numbers_) + matrix<std::uint16_t>(4, 3, 2, numbers_) +
                          matrix<std::int32_t>(5, 3, 2, numbers_) + matrix<std::uint32_t>(6, 3, 2, numbers_) +
                          matrix<float>(7, 3, 2, numbers_) + matrix<std::int64_t>(12, 3, 2, numbers_) +
                          matrix<std::uint64_t>(13, 3, 2, numbers_);
  const auto found = read(header() + all);
  ASSERT_EQ(found.size(), 9u);
  for (const NamedMatrix& matrix : found) EXPECT_EQ(matrix.table.values, expected);
  EXPECT_EQ(read(header("MI") + matrix<double>(9, 3, 2, numbers_, true))[0].table.values, expected);
}

TEST_F(MatFile, CompressedMatricesFollowEachOther) {
  const std::string one = compressed(matrix<double>(9, 2, 3, numbers_));
  EXPECT_EQ(read(header() + one + one).size(), 2u);
}

TEST_F(MatFile, SmallElementsShareAWord) {
  // uint8 {7, 8}: type 2 and length 2 in one word, the data in the next.
  std::string file = matrix<std::uint8_t>(2, 1, 2, {7, 8});
  const std::string small = bytes_of(std::uint32_t{2 | 2 << 16}) + std::string("\x07\x08\0\0", 4);
  file.replace(file.size() - 16, 16, small);
  file.replace(4, 4, bytes_of(static_cast<std::uint32_t>(file.size() - 8)));
  EXPECT_EQ(read(header() + file)[0].table.values, (std::vector<double>{7, 8}));
}

TEST_F(MatFile, WhatIsNoRealMatrixIsPassedOver) {
  const std::string text = matrix<std::uint16_t>(4, 1, 2, {65, 66}, false, 4);
  const std::string complex = matrix<double>(9, 1, 2, {1, 2}, false, 6 | 0x0800);
  EXPECT_EQ(read(header() + text + complex + matrix<double>(9, 2, 3, numbers_)).size(), 1u);
}

TEST_F(MatFile, DamageIsSaid) {
  const std::string whole = header() + matrix<double>(9, 2, 3, numbers_);
  for (std::size_t length = 129; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)).find("truncated or damaged"), std::string::npos) << length;
  EXPECT_NE(error_of("").find("not one"), std::string::npos);
  EXPECT_NE(error_of(std::string(200, 'x')).find("expected a MATLAB file of version 5"), std::string::npos);
  std::string version = whole;
  version[125] = 2;
  EXPECT_NE(error_of(version).find("of another version"), std::string::npos);
  const std::string packed = header() + compressed(matrix<double>(9, 2, 3, numbers_));
  std::string broken = packed;
  broken[150] = static_cast<char>(broken[150] ^ 0x55);
  EXPECT_NE(error_of(broken).find("damaged"), std::string::npos);
  EXPECT_NE(error_of(header() + matrix<double>(9, 2000, 2000, numbers_)).find("too few numbers"), std::string::npos);
  EXPECT_NE(error_of(header() + matrix<double>(9, -1, 3, numbers_)).find("negative"), std::string::npos);
  EXPECT_THROW(read_mat(path_ + ".none"), Error);
}

TEST_F(MatFile, EveryChangedByteIsReadOrRefused) {
  const std::string plain = header() + matrix<double>(9, 2, 3, numbers_);
  for (std::size_t at = 124; at < plain.size(); ++at)
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string changed = plain;
      changed[at] = static_cast<char>(changed[at] ^ change);
      for (const NamedMatrix& matrix : (error_of(changed).empty() ? read(changed) : std::vector<NamedMatrix>()))
        EXPECT_EQ(matrix.table.values.size(), matrix.table.rows * matrix.table.columns) << at;
    }
}

// The file of Shwartz-Ziv and Tishby: 4096 inputs of 12 bits with a label each.
TEST(MatFileOfTishby, IsRead) {
  const std::string path = ISENTROPIC_SHARED "/data/ibsgd/var_u.mat";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  bool inputs = false, labels = false;
  for (const NamedMatrix& matrix : read_mat(path)) {
    if (matrix.table.rows == 4096 && matrix.table.columns == 12) {
      inputs = true;
      for (const double x : matrix.table.values) ASSERT_TRUE(x == 0 || x == 1);
    }
    labels = labels || (matrix.table.values.size() == 4096);
  }
  EXPECT_TRUE(inputs && labels);
}

}  // namespace
}  // namespace isentropic::io
