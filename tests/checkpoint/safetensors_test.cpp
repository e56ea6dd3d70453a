// What the reader of safetensors files accepts, and its errors for the rest.
#include "checkpoint/safetensors.hpp"

#include <sys/stat.h>

#include <limits>

#include "checkpoint/files.hpp"

namespace isentropic::checkpoint {
namespace {

class Safetensors : public FolderTest {
 protected:
  // The error for a file with this content, without the leading file name.
  std::string said(const std::string& bytes) const {
    const std::string name = file("f", bytes);
    const std::string message = complaint([&] { SafetensorsFile::open(name); });
    EXPECT_EQ(message.rfind(name, 0), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.substr(std::min(name.size(), message.size()));
  }
  // The same for a header followed by `data` bytes.
  std::string said_of(const std::string& header, std::size_t data = 0) const {
    return said(safetensors_file(header, std::string(data, 'x')));
  }
};

TEST_F(Safetensors, ByHand) {
  const std::string header = "{" + entry("b", "F32", "[2]", "[0,8]") + "," + entry("a", "U8", "[]", "[8,9]") + "," +
                             entry("c", "I64", "[3,0]", "[8,8]") +
                             R"(,"__metadata__":{"format":"pt","note":"\u00e9"}})";
  const std::string name = file("f", safetensors_file(header, std::string("\0\0\x80\x3F\0\0\0\xC0\x07", 9)));
  const auto read = SafetensorsFile::open(name);
  ASSERT_EQ(read.tensors().size(), 3u);
  EXPECT_EQ(read.tensors()[0].name, "a");
  EXPECT_EQ(read.find("a")->shape, Shape{});
  EXPECT_EQ(to_floats(*read.find("a")), std::vector<float>{7});
  EXPECT_EQ(read.find("b")->type, ElementType::f32);
  EXPECT_EQ(to_floats(*read.find("b")), (std::vector<float>{1, -2}));
  EXPECT_EQ(read.find("c")->shape, (Shape{3, 0}));
  EXPECT_TRUE(read.find("c")->bytes.empty());
  EXPECT_EQ(read.find("d"), nullptr);
  EXPECT_EQ(read.find("__metadata__"), nullptr);
  EXPECT_EQ(read.metadata(), (Metadata{{"format", "pt"}, {"note", "\u00e9"}}));
}

TEST_F(Safetensors, BytesOutliveTheFile) {
  StoredTensor kept;
  {
    const std::string name = file("f", safetensors_file("{" + entry("a", "U8", "[3]", "[0,3]") + "}", "\1\2\3"));
    kept = *SafetensorsFile::open(name).find("a");
    std::filesystem::remove(name);
  }
  EXPECT_EQ(to_floats(kept), (std::vector<float>{1, 2, 3}));
}

TEST_F(Safetensors, LinksAreFollowed) {
  file("real", safetensors_file("{}", ""));
  std::filesystem::create_symlink(path("real"), path("link"));
  EXPECT_TRUE(SafetensorsFile::open(path("link")).tensors().empty());
}

TEST_F(Safetensors, WhatIsNoFile) {
  const auto said_at = [](const std::string& name) { return complaint([&] { SafetensorsFile::open(name); }); };
  EXPECT_EQ(said_at(path("no")), path("no") + " is missing; expected a safetensors file");
  EXPECT_EQ(said_at(folder_), folder_.string() + " is a directory; expected a safetensors file");
  EXPECT_EQ(said_at(file("empty", "")), path("empty") + " is empty; expected a safetensors file");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(said_at(path("pipe")), path("pipe") + " is not a regular file; expected a safetensors file");
}

TEST_F(Safetensors, LengthOfTheHeader) {
  EXPECT_EQ(said("1234567"), " is 7 bytes long; expected at least 8 bytes, the length of the header");
  EXPECT_EQ(said(little_endian(3) + "{}"), ": length of the header is 3; expected at most the 2 bytes that follow");
  EXPECT_EQ(said(little_endian(100'000'001) + "{}"), ": length of the header is 100000001; expected at most 100000000");
  EXPECT_EQ(said(little_endian(~std::uint64_t{0})),
            ": length of the header is 18446744073709551615; expected at most 100000000");
}

TEST_F(Safetensors, HeaderThatIsNoHeader) {
  EXPECT_EQ(said_of(""), ": header is not JSON at byte 1; expected a JSON object");
  EXPECT_EQ(said_of(R"({"a)"), ": header is not JSON at byte 4; expected a JSON object");
  EXPECT_EQ(said_of("{}x"), ": header is not JSON at byte 3; expected a JSON object");
  EXPECT_EQ(said_of("[1]"), ": header is [1]; expected a JSON object");
  EXPECT_EQ(said_of(R"({"a":{},"a":{}})"), R"(: header is JSON with the key "a" twice; expected it once)");
  EXPECT_EQ(said_of(R"({"a":{"shape":[],"shape":[]}})"),
            R"(: header is JSON with the key "shape" twice; expected it once)");
  EXPECT_EQ(said_of(std::string(1'000'000, '[')), ": header is JSON nested deeper than 8 levels; expected fewer");
  std::string many = R"({"a":[0)";
  for (int i = 0; i < 4'000'000; ++i) many += ",0";
  EXPECT_EQ(said_of(many + "]}"), ": header is JSON of more than 4000000 values; expected fewer");
  EXPECT_EQ(said_of(R"({"__metadata__":{"a":1}})"), R"(: __metadata__: "a" is 1; expected a text)");
  EXPECT_EQ(said_of(R"({"__metadata__":[]})"), ": __metadata__ is []; expected an object of texts");
}

TEST_F(Safetensors, DescriptionOfATensor) {
  EXPECT_EQ(said_of(R"({"a":3})"), R"(: tensor "a" is 3; expected an object with dtype, shape and data_offsets)");
  EXPECT_EQ(said_of(R"({"a\n":{"dtype":"F32","shape":[]}})"),
            R"(: tensor "a\n": data_offsets is missing; expected two offsets)");
  EXPECT_EQ(said_of("{" + entry("a", "F33", "[]", "[0,4]") + "}", 4),
            R"(: tensor "a": dtype is "F33"; expected a type of the format, such as F32 or BF16)");
  for (const std::string shape : {"[-1]", "[1.0]", "[\"1\"]", "[9223372036854775808]", "[[1]]", "1", "[1e400]"}) {
    const std::string message = said_of("{" + entry("a", "F32", shape, "[0,4]") + "}", 4);
    if (shape != "[1e400]")
      EXPECT_EQ(message, R"(: tensor "a": shape is )" + shape + "; expected a list of sizes from 0 to 2^63 - 1");
    else
      EXPECT_EQ(message, ": header is JSON with a number out of range; expected numbers below 1.8e308");
  }
  std::string axes = "[1";
  for (int i = 0; i < 64; ++i) axes += ",1";
  EXPECT_EQ(said_of("{" + entry("a", "F32", axes + "]", "[0,4]") + "}", 4),
            R"(: tensor "a": shape is of 65 axes; expected at most 64)");
}

TEST_F(Safetensors, Offsets) {
  for (const std::string offsets : {"[0]", "[0,4,4]", "[0,4.0]", "[-4,0]", "{}", "[0,\"4\"]", "[0,1e3]"})
    EXPECT_EQ(said_of("{" + entry("a", "F32", "[1]", offsets) + "}", 4),
              R"(: tensor "a": data_offsets is )" + (offsets == "[0,1e3]" ? "[0,1000.0]" : offsets) +
                  "; expected two offsets, integers from 0 on");
  EXPECT_EQ(said_of("{" + entry("a", "F32", "[1]", "[4,0]") + "}", 4),
            R"(: tensor "a": data_offsets is [4,0]; expected a begin that is not above the end)");
  EXPECT_EQ(said_of("{" + entry("a", "F32", "[1]", "[0,5]") + "}", 4),
            R"(: tensor "a": data_offsets is [0,5]; expected an end within the 4 bytes of data)");
  EXPECT_EQ(said_of("{" + entry("a", "U8", "[9]", "[0,9223372036854775807]") + "}", 4),
            R"(: tensor "a": data_offsets is [0,9223372036854775807]; expected an end within the 4 bytes of data)");
}

TEST_F(Safetensors, BytesAndShape) {
  EXPECT_EQ(said_of("{" + entry("a", "F32", "[2,3]", "[0,20]") + "}", 20),
            R"(: tensor "a" is 20 bytes long; expected 24 bytes, for F32 of shape [2,3])");
  EXPECT_EQ(said_of("{" + entry("a", "F4", "[3]", "[0,2]") + "}", 2),
            R"(: tensor "a" is F4 of shape [3]; expected a whole number of bytes, not 12 bits)");
  // 2^62 * 4 = 2^64 would wrap to 0, and so would the number of bits in 2^61 bytes.
  for (const std::string shape : {"[4611686018427387904,4]", "[2305843009213693952]"})
    EXPECT_EQ(said_of("{" + entry("a", "U8", shape, "[0,0]") + "}"),
              R"(: tensor "a" is U8 of shape )" + shape + "; expected a shape with fewer than 2^64 bits of data");
}

TEST_F(Safetensors, EveryByteBelongsToOneTensor) {
  const std::string first = entry("first", "U8", "[4]", "[0,4]");
  EXPECT_EQ(said_of("{" + first + "," + entry("b", "U8", "[4]", "[3,7]") + "}", 7),
            R"(: begin of tensor "b" is 3; expected 4, where the tensor before it ends: they overlap)");
  EXPECT_EQ(said_of("{" + first + "," + entry("a", "U8", "[4]", "[0,4]") + "}", 4),
            R"(: begin of tensor "first" is 0; expected 4, where the tensor before it ends: they overlap)");
  EXPECT_EQ(said_of("{" + first + "," + entry("b", "U8", "[4]", "[5,9]") + "}", 9),
            R"(: begin of tensor "b" is 5; expected 4, where the tensor before it ends: there is a hole)");
  EXPECT_EQ(said_of("{" + entry("b", "U8", "[4]", "[1,5]") + "}", 5),
            R"(: begin of tensor "b" is 1; expected 0, where the tensor before it ends: there is a hole)");
  EXPECT_EQ(said_of("{" + entry("in", "U8", "[0]", "[2,2]") + "," + first + "}", 4),
            R"(: begin of tensor "in" is 2; expected 4, where the tensor before it ends: they overlap)");
  EXPECT_EQ(said_of("{" + first + "}", 6), ": end of the last tensor is 4; expected 6, the end of the data");
}

TEST_F(Safetensors, LongNamesAreCutInMessages) {
  EXPECT_LT(said_of("{\"" + std::string(1'000'000, 'n') + "\":3}").size(), 300u);
}

// The reference implementation accepts headers of any length, so elements may be misaligned.
TEST_F(Safetensors, MisalignedElementsAreRead) {
  std::string header = "{" + entry("a", "F32", "[1]", "[0,4]") + "}";
  while (header.size() % 4 != 1) header += ' ';
  const auto misaligned = SafetensorsFile::open(file("f", safetensors_file(header, std::string("\0\0\x80\x3F", 4))));
  EXPECT_FALSE(misaligned.find("a")->is_aligned());
  EXPECT_EQ(to_floats(*misaligned.find("a")), std::vector<float>{1});
  while (header.size() % 4 != 0) header += ' ';
  const auto aligned = SafetensorsFile::open(file("g", safetensors_file(header, std::string("\0\0\x80\x3F", 4))));
  EXPECT_TRUE(aligned.find("a")->is_aligned());
}

TEST_F(Safetensors, ElementsBecomeFloats) {
  const auto floats = [](const std::string& type, const std::string& bytes, std::size_t count) {
    const std::string shape = "[" + std::to_string(count) + "]", end = std::to_string(bytes.size());
    const std::string all = safetensors_file("{" + entry("a", type, shape, "[0," + end + "]") + "}", bytes);
    return to_floats(*SafetensorsFile::parse("f", std::as_bytes(std::span(all)), nullptr).find("a"));
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(floats("F16", std::string("\0\x3C\x01\0\xFF\xFB", 6), 3), (Floats{1, 0x1p-24f, -65504}));
  EXPECT_EQ(floats("BF16", std::string("\x80\x3F\0\xC0\x80\x7F", 6), 3),
            (Floats{1, -2, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(floats("F64", std::string("\0\0\0\0\0\0\xE0\x3F", 8), 1), Floats{0.5});
  EXPECT_EQ(floats("I64", std::string("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8), 1), Floats{-2});
  EXPECT_EQ(floats("I32", std::string("\0\0\x01\0", 4), 1), Floats{65536});
  EXPECT_EQ(floats("I16", std::string("\0\x80", 2), 1), Floats{-32768});
  EXPECT_EQ(floats("I8", "\x80", 1), Floats{-128});
  EXPECT_EQ(floats("U8", "\x80", 1), Floats{128});
  EXPECT_EQ(floats("BOOL", std::string("\0\x01\x02", 3), 3), (Floats{0, 1, 1}));
  EXPECT_EQ(complaint([&] { floats("F8_E4M3", "x", 1); }),
            R"(the type of tensor "a" is F8_E4M3; expected one that can be computed with: )"
            "F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
}

}  // namespace
}  // namespace isentropic::checkpoint
