// Files written by write_safetensors: their bytes, round-trips, and what remains after a failure.
#include <sys/resource.h>

#include <csignal>

#include "checkpoint/files.hpp"
#include "checkpoint/safetensors.hpp"

namespace isentropic::checkpoint {
namespace {

StoredTensor stored(const std::string& name, ElementType type, const Shape& shape, const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return {.name = name, .type = type, .shape = shape, .bytes = std::as_bytes(std::span(*owner)), .owner = owner};
}

using WriteSafetensors = FolderTest;

TEST_F(WriteSafetensors, BytesAreThoseOfTheReference) {
  write_safetensors(path("f"),
                    {stored("b", ElementType::f16, {1}, "ab"), stored("z", ElementType::i64, {0, 2}, ""),
                     stored("a", ElementType::f16, {}, "cd"), stored("m", ElementType::boolean, {1}, "\1")},
                    {{"format", "pt"}});
  const std::string header = R"({"__metadata__":{"format":"pt"},)" + entry("z", "I64", "[0,2]", "[0,0]") + "," +
                             entry("a", "F16", "[]", "[0,2]") + "," + entry("b", "F16", "[1]", "[2,4]") + "," +
                             entry("m", "BOOL", "[1]", "[4,5]") + "}";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(content(path("f")), safetensors_file(padded, "cdab\1"));
}

TEST_F(WriteSafetensors, NothingAtAll) {
  write_safetensors(path("f"), {});
  EXPECT_EQ(content(path("f")), safetensors_file("{}      ", ""));
}

TEST_F(WriteSafetensors, ComesBackAsItWas) {
  std::vector<StoredTensor> all;
  for (int i = 0; i <= static_cast<int>(ElementType::u64); ++i) {
    const auto type = static_cast<ElementType>(i);
    const std::string bytes(3 * bits_of(type), static_cast<char>('a' + i));  // 4 * 6 elements
    all.push_back(stored("\u03b2\"" + std::string(name(type)) + "\n", type, {4, 6}, bytes));
  }
  write_safetensors(path("f"), all, {{"a", "\\"}, {"b", ""}});
  const auto read = SafetensorsFile::open(path("f"));
  ASSERT_EQ(read.tensors().size(), all.size());
  for (const StoredTensor& tensor : all) {
    SCOPED_TRACE(tensor.name);
    const StoredTensor* const back = read.find(tensor.name);
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->type, tensor.type);
    EXPECT_EQ(back->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(back->bytes, tensor.bytes));
    EXPECT_TRUE(back->is_aligned());
    EXPECT_EQ(complaint([&] { to_floats(*back); }) == "none", is_supported(tensor.type));
  }
  EXPECT_EQ(read.metadata(), (Metadata{{"a", "\\"}, {"b", ""}}));
}

// The mapping keeps the old file alive, which is replaced rather than overwritten.
TEST_F(WriteSafetensors, AFileCanBeWrittenOverItself) {
  write_safetensors(path("f"), {stored("a", ElementType::u8, {3}, "abc")});
  std::vector<StoredTensor> tensors = SafetensorsFile::open(path("f")).tensors();
  tensors.push_back(stored("b", ElementType::u8, {1}, "d"));
  write_safetensors(path("f"), tensors);
  EXPECT_TRUE(content(path("f")).ends_with("abcd"));
  EXPECT_EQ(to_floats(tensors[0]), (std::vector<float>{'a', 'b', 'c'}));
}

TEST_F(WriteSafetensors, MistakesOfTheCaller) {
  const auto said = [&](std::vector<StoredTensor> tensors, const Metadata& metadata = {}) {
    return complaint([&] { write_safetensors(path("f"), std::move(tensors), metadata); });
  };
  const StoredTensor a = stored("a", ElementType::u8, {1}, "x");
  EXPECT_EQ(said({a, a}), R"(the name of a tensor is "a"; expected one that is not in use)");
  EXPECT_EQ(said({stored("__metadata__", ElementType::u8, {1}, "x")}),
            R"(the name of a tensor is "__metadata__"; expected one that is not in use)");
  EXPECT_EQ(said({stored("a", ElementType::f32, {2}, "1234")}),
            R"(tensor "a" is 4 bytes long; expected 8 bytes, for F32 of shape [2])");
  EXPECT_EQ(said({stored("a", ElementType::u8, {-1}, "")}),
            R"(tensor "a" is U8 of shape [-1]; expected a shape with fewer than 2^64 bits of data)");
  EXPECT_NE(said({a}, {{"k", "\xFF"}}).find("is not UTF-8"), std::string::npos);
  EXPECT_EQ(file_count(), 0);
}

// Longer headers could not be read back. The header is {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}.
TEST_F(WriteSafetensors, NoHeaderThatCannotBeRead) {
  const std::vector<StoredTensor> tensors = {stored("a", ElementType::u8, {1}, "x")};
  EXPECT_EQ(complaint([&] { write_safetensors(path("f"), tensors, {}, 55); }),
            path("f") + ": length of the header is 56; expected at most 55");
  EXPECT_EQ(file_count(), 0);
  write_safetensors(path("f"), tensors, {}, 56);
  EXPECT_EQ(content(path("f")).size(), 8u + 56 + 1);
}

TEST_F(WriteSafetensors, AFullDisk) {
  const StoredTensor tensor = stored("a", ElementType::u8, {100}, std::string(100, 'x'));
  EXPECT_EQ(complaint([&] { write_safetensors("/dev/full", {tensor}); }),
            "the safetensors file is /dev/full; expected a file that can be written (No space left on device)");
}

// A file size limit stands in for a disk that fills up in the middle of the data.
TEST_F(WriteSafetensors, WhatCannotBeFinishedIsNotLeft) {
  write_safetensors(path("f"), {stored("old", ElementType::u8, {1}, "x")});
  const std::string old = content(path("f"));
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1 << 16;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = complaint(
      [&] { write_safetensors(path("f"), {stored("a", ElementType::u8, {1 << 17}, std::string(1 << 17, 'x'))}); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(message, "the safetensors file is " + path("f") + "; expected a file that can be written (File too large)");
  EXPECT_EQ(content(path("f")), old);
  EXPECT_EQ(file_count(), 1);
}

}  // namespace
}  // namespace isentropic::checkpoint
