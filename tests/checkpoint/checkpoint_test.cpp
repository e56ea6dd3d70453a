// Model folders: single files, shards, missing parts, a large file that must not be read, and real folders.
#include "checkpoint/checkpoint.hpp"

#include <chrono>
#include <cstdlib>

#include "checkpoint/config.hpp"
#include "checkpoint/files.hpp"

namespace isentropic::checkpoint {
namespace {

class CheckpointTest : public FolderTest {
 protected:
  void tensor_file(const std::string& name, const std::string& tensor, const std::string& data) const {
    const std::string size = std::to_string(data.size());
    file(name, safetensors_file("{" + entry(tensor, "U8", "[" + size + "]", "[0," + size + "]") + "}", data));
  }
  std::string index(const std::string& content) const { return file("model.safetensors.index.json", content); }
  std::string said() const {
    const std::string message = complaint([&] { Checkpoint::open(folder_); });
    const std::string begin = path("model.safetensors.index.json: ");
    return message.starts_with(begin) ? message.substr(begin.size()) : message;
  }
};

TEST_F(CheckpointTest, OneFile) {
  tensor_file("model.safetensors", "a", "\1\2");
  for (const std::string& place : {folder_.string(), path("model.safetensors")}) {
    const Checkpoint checkpoint = Checkpoint::open(place);
    EXPECT_TRUE(checkpoint.has("a"));
    EXPECT_FALSE(checkpoint.has("b"));
    EXPECT_EQ(checkpoint.names(), std::vector<std::string>{"a"});
    EXPECT_EQ(checkpoint.total_bytes(), 2u);
    EXPECT_EQ(to_floats(checkpoint.tensor("a")), (std::vector<float>{1, 2}));
    EXPECT_EQ(complaint([&] { checkpoint.tensor("b"); }),
              path("model.safetensors") + R"(: tensor "b" is missing; expected one of the checkpoint)");
  }
}

TEST_F(CheckpointTest, Shards) {
  tensor_file("one.safetensors", "a", "\1\2");
  tensor_file("two.safetensors", "b", "\3");
  const std::string place =
      index(R"({"metadata":{"total_size":3},"weight_map":{"b":"two.safetensors","a":"one.safetensors"}})");
  for (const std::string& opened : {folder_.string(), place}) {
    const Checkpoint checkpoint = Checkpoint::open(opened);
    EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(checkpoint.total_bytes(), 3u);
    EXPECT_EQ(to_floats(checkpoint.tensor("b")), std::vector<float>{3});
  }
}

TEST_F(CheckpointTest, WhatAShardLacks) {
  tensor_file("one.safetensors", "a", "\1\2");
  tensor_file("two.safetensors", "b", "\3");
  index(R"({"weight_map":{"a":"one.safetensors","b":"three.safetensors"}})");
  EXPECT_EQ(said(), R"(shard "three.safetensors" is missing; expected a file, for it is to hold "b")");
  index(R"({"weight_map":{"a":"two.safetensors","b":"two.safetensors","c":"one.safetensors"}})");
  EXPECT_EQ(said(), R"(tensor "a" is in "one.safetensors"; expected "two.safetensors", as the index says)");
  index(R"({"weight_map":{"a":"one.safetensors","c":"two.safetensors"}})");
  EXPECT_EQ(said(), R"(tensor "c" is missing from "two.safetensors"; expected it there, as the index says)");
  file("bad.safetensors", "short");
  index(R"({"weight_map":{"a":"bad.safetensors"}})");
  EXPECT_EQ(said(), path("bad.safetensors") + " is 5 bytes long; expected at least 8 bytes, the length of the header");
}

TEST_F(CheckpointTest, AnIndexNamesOnlyItsNeighbours) {
  std::filesystem::create_directory(path("sub"));
  tensor_file("sub/x", "a", "\1");
  for (const std::string shard : {"sub/x", "/etc/passwd", "../x", "..", ".", "", "a\\\\b", "x\\u0000y"}) {
    index(R"({"weight_map":{"a":")" + shard + R"("}})");
    EXPECT_EQ(said(), R"(shard of tensor "a" is ")" + shard + R"("; expected the name of a file in the same folder)");
  }
}

TEST_F(CheckpointTest, AnIndexThatIsNone) {
  index("{}");
  EXPECT_EQ(said(), "weight_map is missing; expected an object");
  index(R"({"weight_map":["a"]})");
  EXPECT_EQ(said(), R"(weight_map is ["a"]; expected an object)");
  index(R"({"weight_map":{"a":1}})");
  EXPECT_EQ(said(), R"(shard of tensor "a" is 1; expected the name of a file)");
  index(R"({"weight_map":{"a":"x","a":"y"}})");
  EXPECT_EQ(said(), path("model.safetensors.index.json") + R"( is JSON with the key "a" twice; expected it once)");
}

TEST_F(CheckpointTest, FoldersWithoutSafetensors) {
  EXPECT_EQ(said(),
            folder_.string() +
                " is a folder without model.safetensors and model.safetensors.index.json; expected a checkpoint");
  file("pytorch_model.bin", "x");
  EXPECT_EQ(said(), folder_.string() +
                        " is a folder with pytorch_model.bin and without model.safetensors; expected safetensors: "
                        "convert it, with save_pretrained of transformers");
  EXPECT_EQ(complaint([&] { Checkpoint::open(path("no")); }), path("no") + " is missing; expected a safetensors file");
}

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// A sparse file of two gigabytes, which takes no disk space.
TEST_F(CheckpointTest, DataIsNotReadOnOpening) {
  constexpr std::uint64_t kRows = 64, kColumns = 1 << 23;  // elements are F32
  const std::string end = std::to_string(4 * kRows * kColumns);
  const std::string header = "{" + entry("a", "F32", "[64," + std::to_string(kColumns) + "]", "[0," + end + "]") + "}";
  file("model.safetensors", safetensors_file(header, ""));
  std::filesystem::resize_file(path("model.safetensors"), 8 + header.size() + 4 * kRows * kColumns);

  const std::size_t resident = resident_bytes();
  const auto start = std::chrono::steady_clock::now();
  const Checkpoint checkpoint = Checkpoint::open(folder_);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_LT(resident_bytes(), resident + (4 << 20));
  EXPECT_EQ(checkpoint.total_bytes(), std::uint64_t{1} << 31);
  EXPECT_EQ(checkpoint.tensor("a").bytes.back(), std::byte{0});
}

// $ISENTROPIC_SHARED/models, or shared/models beside the sources.
std::filesystem::path shared_models() {
  const char* const shared = std::getenv("ISENTROPIC_SHARED");
  const std::filesystem::path beside = std::filesystem::path(ISENTROPIC_SOURCES) / ".." / "shared";
  return (shared != nullptr ? std::filesystem::path(shared) : beside) / "models";
}

struct Model {
  const char* folder;
  const char* embedding;
  Shape shape;  // vocabulary, width
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.folder; }

class RealFolders : public testing::TestWithParam<Model> {};

TEST_P(RealFolders, Open) {
  const std::filesystem::path folder = shared_models() / GetParam().folder;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << "; set ISENTROPIC_SHARED";
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const Config config = Config::read(folder);
  EXPECT_EQ(checkpoint.tensor(GetParam().embedding).shape, GetParam().shape);
  EXPECT_EQ(config.integer("vocab_size"), GetParam().shape[0]);
  EXPECT_EQ(config.integer({"hidden_size", "n_embd"}), GetParam().shape[1]);
  EXPECT_EQ(config.text({"dtype", "torch_dtype"}), "float32");
  EXPECT_EQ(config.texts("architectures").size(), 1u);
  for (const std::string& name : checkpoint.names()) {
    const std::vector<float> values = to_floats(checkpoint.tensor(name));
    EXPECT_TRUE(std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, RealFolders,
                         testing::Values(Model{"hf-random-bert", "embeddings.word_embeddings.weight", {1200, 64}},
                                         Model{"hf-random-gpt2", "transformer.wte.weight", {1200, 64}},
                                         Model{"hf-random-llama", "model.embed_tokens.weight", {1200, 96}},
                                         Model{"hf-random-mistral", "model.embed_tokens.weight", {1200, 64}},
                                         Model{"stories260K", "model.embed_tokens.weight", {512, 64}}));

}  // namespace
}  // namespace isentropic::checkpoint
