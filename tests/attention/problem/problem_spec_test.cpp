// The JSON form of a problem: it round-trips, and unknown entries are named in the error.
#include "attention/problem/problem_spec.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/complaint.hpp"

namespace isentropic {
namespace {

using Json = nlohmann::json;

std::string error_of(const std::string& text) {
  return support::complaint([&] { spec_from_json(text); });
}

void expect_error(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(error_of(text).find(word), std::string::npos) << error_of(text);
}

TEST(ProblemSpec, TextSurvivesReadingAndWriting) {
  for (
      const char* text : {
          R"({"scale": {"law": "inverse_sqrt_d"}, "map": {"name": "softmax"}, "tensors": []})",
          R"({"causal": true, "align": "end", "window": [5, 2], "prefix": 3, "segments": 7, "exclude_self": true,
               "scale": {"law": "frozen", "kappa": [1.5, 2.0], "n_max": 4096}, "map": {"name": "softmax"},
               "soft_cap": 30.0, "dropout": 0.25, "statistics": ["entropy", "argmax"], "tensors": ["sink", "seed"]})",
          R"({"strided": [4, 2], "block": [16, 32], "scale": {"law": "hybrid", "alpha": "tensor", "beta": 0.5},
               "map": {"name": "gumbel", "tau": 0.5, "straight_through": true}, "bias": "alibi",
               "statistics": "all", "groups": [2, 64], "tensors": ["layout", "scale", "bias", "seed"]})",
          R"({"scale": {"law": "target_entropy", "target": 2.0, "gradient": "implicit"},
               "map": {"name": "top_k", "keys": 8}, "tensors": []})",
          R"({"scale": {"law": "per_row"}, "map": {"name": "linear", "feature": "relu", "normaliser": "none",
               "gamma": [0.5, 0.25], "recurrent": true, "sharpen": 0.0}, "bias": "relative",
               "tensors": ["scale", "bias"]})",
          R"({"scale": {"law": "inverse_sqrt_d"}, "map": {"name": "linear", "feature": "exp", "normaliser": "l1",
               "gamma": 1.0, "recurrent": false, "sharpen": 1.5}, "tensors": []})",
          R"({"scale": {"law": "inverse_sqrt_d"}, "map": {"name": "entmax", "alpha": "tensor"}, "tensors": ["map"]})",
          R"({"scale": {"law": "llama4", "step": 8192, "coefficient": 0.1}, "map": {"name": "softmax"},
               "statistics": ["first_mass"], "tensors": []})",
          R"({"scale": {"law": "inverse_sqrt_d"}, "map": {"name": "softmax"}, "shard": {"query_runs": [[0, 4], [12, 4]],
               "key_runs": [[4, 8]], "total_queries": 16, "total_keys": 16}, "tensors": []})",
      }) {
    EXPECT_EQ(Json::parse(to_json(spec_from_json(text))), Json::parse(text)) << text;
  }
}

TEST(ProblemSpec, EveryLawAndMapByItsName) {
  for (const ScaleLaw& law : Scale::laws()) {
    if (law.name == "per_row") continue;
    Options options;
    for (const Parameter& parameter : law.parameters)
      if (!parameter.usual)
        options.emplace_back(parameter.name,
                             parameter.type == Parameter::Type::integer ? Option(std::int64_t{64}) : 1.5);
    const Scale scale = Scale::named(law.name, options);
    EXPECT_EQ(scale.name(), law.name);
    EXPECT_EQ(Scale::named(law.name, scale.options()).options(), scale.options()) << law.name;
    ProblemSpec spec;
    spec.scale = scale;
    EXPECT_EQ(spec_from_json(to_json(spec)).scale.options(), scale.options()) << law.name;
  }
  for (const ScoreMapWords& words : ScoreMap::maps()) {
    Options options;
    if (words.name == "top_k") options = {{"keys", std::int64_t{3}}};
    if (words.name == "decay") options = {{"gamma", 0.5}};
    const ScoreMap map = ScoreMap::named(words.name, options);
    EXPECT_EQ(map.name(), words.name == "hard" ? "top_k" : words.name);
    EXPECT_EQ(ScoreMap::named(map.name(), map.options()).options(), map.options()) << words.name;
  }
}

TEST(ProblemSpec, NamesWhatItDoesNotKnow) {
  expect_error("{", {"problem text is not JSON"});
  expect_error("[]", {"problem text", "a JSON object"});
  expect_error(R"({"casual": true})", {"problem key is 'casual'", "causal"});
  expect_error(R"({"align": "middle"})", {"align is 'middle'", "start or end"});
  expect_error(R"({"window": 5})", {"a pair of integers"});
  expect_error(R"({"window": ["a", 5]})", {"problem text", "wrong type"});
  expect_error(R"({"bias": "rotary"})", {"bias is 'rotary'", "dense, alibi or relative"});
  expect_error(R"({"statistics": ["entropie"]})", {"'entropie'", "entropy"});
  expect_error(R"({"tensors": ["msak"]})", {"tensor is 'msak'", "mask"});
  expect_error(R"({"shard": {"keys": 3}})", {"key of the shard is 'keys'", "key_runs"});
  expect_error(R"({"shard": {"key_runs": [4]}})", {"a pair of integers"});
  expect_error(R"({"scale": {"law": "per_row", "kappa": 2}, "tensors": ["scale"]})",
               {"parameter of the scale per_row is 'kappa'", "none"});
  expect_error(R"({"scale": {"law": "log"}})", {"scale is 'log'", "log_n", "target_entropy"});
  expect_error(R"({"scale": {"law": "log_n", "beta": 1}})", {"parameter of the scale log_n is 'beta'", "kappa"});
  expect_error(R"({"scale": {"law": "frozen", "kappa": 1}})", {"parameter n_max of the scale frozen is absent"});
  expect_error(R"({"scale": {"law": "frozen", "kappa": 1, "n_max": 1.5}})",
               {"n_max of the scale frozen", "an integer"});
  expect_error(R"({"scale": {"law": "log_n", "kappa": "tensor"}})", {"tensors of the scale log_n is 0; expected 1"});
  expect_error(R"({"scale": {"law": "yarn", "factor": "tensor"}, "tensors": ["scale"]})", {"factor", "a tensor"});
  expect_error(R"({"scale": {"law": "target_entropy", "target": 1, "gradient": "both"}})",
               {"'both'", "detached or implicit"});
  expect_error(R"({"map": {"name": "softmin"}})", {"map is 'softmin'", "sparsemax"});
  expect_error(R"({"map": {"name": "entmax", "alpha": "tensor"}})", {"tensors of the map entmax is 0; expected 1"});
  expect_error(R"({"map": {"name": "entmax"}, "tensors": ["map"]})", {"tensors of the map entmax is 1; expected 0"});
  expect_error(R"({"map": {"name": "linear", "gamma": "tensor"}, "tensors": ["map"]})",
               {"gamma of the map linear is a tensor", "no gradient"});
  expect_error(R"({"map": {"name": "linear", "sharpen": 1}})", {"sharpen is 1", "elu_plus_one", "exp alone"});
  expect_error(R"({"map": {"name": "linear", "feature": "exp", "sharpen": -1}})", {"sharpen is -1", ">= 0"});
  expect_error(R"({"map": {"name": "top_k"}})", {"parameter keys of the map top_k is absent"});
  expect_error(R"({"map": {"name": "sigmoid", "normaliser": "l3"}})", {"'l3'", "none, visible, l1 or l2"});
}

TEST(ProblemSpec, ParametersAreCheckedWhicheverWayTheyCome) {
  expect_error(R"({"scale": {"law": "yarn", "factor": 0.5}})", {"factor of the scale yarn is 0.5", ">= 1"});
  expect_error(R"({"scale": {"law": "trained_length", "n_train": 1}})",
               {"n_train of the scale trained_length is 1; expected at least 2"});
  expect_error(R"({"scale": {"law": "target_entropy", "target": -1}})",
               {"target of the scale target_entropy is -1", ">= 0"});
  EXPECT_THROW(Scale::log_n(std::vector<double>{}), Error);
  EXPECT_THROW(Scale::yarn(2.0).with_parameter(0, 0.5), Error);
}

TEST(ProblemSpec, ReadOnceForEachText) {
  const std::string text = R"({"causal": true, "prefix": 12345})";
  EXPECT_EQ(cached_spec(text).get(), cached_spec(text).get());
  ProblemSpec spec = spec_from_json(text);
  spec.mask.prefix_keys = 54321;
  const std::string written = cached_text(spec);
  EXPECT_EQ(cached_spec(written)->mask.prefix_keys, 54321);
  // A schedule that writes a new number each step must not grow the cache without bound or evict specs in use.
  const std::shared_ptr<const ProblemSpec> held = cached_spec(text);
  for (int step = 0; step < 3000; ++step) cached_spec(R"({"prefix": )" + std::to_string(step) + "}");
  EXPECT_EQ(held->mask.prefix_keys, 12345);
  EXPECT_EQ(cached_spec(text)->mask.prefix_keys, 12345);
}

TEST(ProblemSpec, WithoutTensorsSaysWhatTheyWouldAdd) {
  const AttentionProblem problem =
      spec_from_json(R"({"dropout": 0.5, "map": {"name": "gumbel"}, "tensors": ["sink", "seed"]})").without_tensors();
  EXPECT_TRUE(problem.sink.has_value());
  EXPECT_EQ(problem.dropout->probability, 0.5);
  EXPECT_EQ(problem.map.kind(), ScoreMap::Kind::gumbel);
}

TEST(Vocabulary, ListsEveryWord) {
  const Json words = Json::parse(vocabulary_json());
  EXPECT_EQ(words["scales"].size(), Scale::laws().size());
  EXPECT_EQ(words["maps"].size(), ScoreMap::maps().size());
  EXPECT_EQ(words["statistics"].size(), statistic_names().size());
  EXPECT_EQ(words["group_statistics"].size(), 4u);
  EXPECT_EQ(words["scales"][1]["parameters"][0],
            Json::parse(R"({"name": "kappa", "type": "per_head", "learnable": true, "default": 1.0})"));
}

}  // namespace
}  // namespace isentropic
