#include "pytorch/description.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "attention/problem/validate.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

using Json = nlohmann::json;

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kDouble).contiguous().flatten();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

// Numbers beside tensors of 16 or 32 bits are computed with in float32, where a larger one would become infinite.
std::vector<double> in_range(const char* argument, std::vector<double> numbers, DType type) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (double number : numbers)
    if (type != DType::float64 && std::isfinite(number) && std::abs(number) > kLargest) {
      std::ostringstream met;
      met << number;
      throw Error(argument, met.str(), "a number in the range of float32, the type of the computation");
    }
  return numbers;
}

std::vector<std::int64_t> integers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kCPU, at::kLong).contiguous().flatten();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

template <class T>
T choose(const std::string& argument, const std::string& name, const std::vector<std::pair<const char*, T>>& choices) {
  std::string known;
  for (const auto& [key, value] : choices) {
    if (name == key) return value;
    known += (known.empty() ? "" : ", ") + std::string(key);
  }
  throw Error(argument, "'" + name + "'", "one of " + known);
}

// Builds the parts of a problem from the text and the terms.
class Reader {
 public:
  Reader(const Json& json, Description& out, Values values) : json_(json), out_(out), values_(values) {}

  Mask mask() {
    Mask mask = json_.value("causal", false) ? Mask::causal(align()) : Mask::none().aligned(align());
    if (json_.contains("window")) mask = mask.window(json_["window"][0], json_["window"][1]);
    if (json_.contains("prefix")) mask = mask.prefix(json_["prefix"]);
    if (json_.contains("strided")) mask = mask.strided(json_["strided"][0], json_["strided"][1]);
    if (json_.contains("segments")) mask = mask.segments(json_["segments"]);
    if (json_.value("exclude_self", false)) mask = mask.exclude_self();
    if (values_ == Values::absent) return mask;
    if (const at::Tensor* lengths = out_.terms.find("key_lengths")) mask = mask.key_lengths(integers_of(*lengths));
    if (const at::Tensor* layout = out_.terms.find("layout"))
      mask = mask.block_sparse(out_.keep_alive(*layout, "layout"), json_.at("block")[0], json_.at("block")[1]);
    if (const at::Tensor* offsets = out_.terms.find("query_offsets")) mask = mask.documents(documents(*offsets));
    if (const at::Tensor* dense = out_.terms.find("mask")) mask = mask.dense(out_.keep_alive(*dense, "mask"));
    return mask;
  }

  Scale scale() {
    const Json json = json_.value("scale", Json::object());
    const std::string law = json.value("law", "inverse_sqrt_d");
    const std::vector<PerHead> parameters = scale_parameters(json);
    const auto parameter = [&](std::size_t i) {
      if (i >= parameters.size())
        throw Error("scale " + law, "without its parameters", "parameter " + std::to_string(i));
      return parameters[i];
    };
    const auto number = [&](std::size_t i) { return json.at("numbers").at(i).get<double>(); };
    const std::int64_t length = json.value("length", std::int64_t{0});
    if (law == "inverse_sqrt_d") return Scale::inverse_sqrt_d();
    if (law == "log_n") return Scale::log_n(parameter(0));
    if (law == "log_n_sqrt_d") return Scale::log_n_sqrt_d(parameter(0));
    if (law == "sqrt_log_n") return Scale::sqrt_log_n(parameter(0));
    if (law == "frozen") return Scale::frozen(parameter(0), length);
    if (law == "hybrid") return Scale::hybrid(parameter(0), parameter(1));
    if (law == "trained_length") return Scale::trained_length(length);
    if (law == "ssmax") return Scale::ssmax(parameter(0));
    if (law == "yarn") return Scale::yarn(number(0), number(1));
    if (law == "llama4") return Scale::llama4(length, number(0));
    if (law == "constant") return Scale::constant(parameter(0));
    if (law == "target_entropy")
      return Scale::target_entropy(parameter(0),
                                   choose<TargetEntropyGradient>("gradient", json.value("gradient", "detached"),
                                                                 {{"detached", TargetEntropyGradient::detached},
                                                                  {"implicit", TargetEntropyGradient::implicit}}));
    if (law == "per_row") {
      out_.per_row = true;
      if (values_ == Values::absent) return Scale::inverse_sqrt_d();
      if (out_.terms.scale().size() != 1) throw Error("scale per_row", "without rows", "one tensor");
      return Scale::per_row(out_.keep_alive(out_.terms.scale()[0], "scale rows"));
    }
    throw Error("scale", "'" + law + "'",
                "inverse_sqrt_d, log_n, log_n_sqrt_d, sqrt_log_n, frozen, hybrid, trained_length, ssmax, yarn, llama4, "
                "constant, per_row or target_entropy");
  }

  ScoreMap map() {
    const Json json = json_.value("map", Json::object());
    const std::string name = json.value("name", "softmax");
    const auto normaliser = [&](Normaliser usual) {
      return json.contains("normaliser") ? choose<Normaliser>("normaliser", json["normaliser"],
                                                              {{"none", Normaliser::none},
                                                               {"visible", Normaliser::visible},
                                                               {"l1", Normaliser::l1},
                                                               {"l2", Normaliser::l2}})
                                         : usual;
    };
    const PerHead gamma = json.value("gamma", std::vector<double>{1.0});
    const LinearForm form =
        choose<LinearForm>("form", json.value("form", "quadratic"),
                           {{"quadratic", LinearForm::quadratic}, {"recurrent", LinearForm::recurrent}});
    if (name == "softmax") return ScoreMap::softmax();
    if (name == "top_k") return ScoreMap::top_k(json.at("keys"));
    if (name == "hard") return ScoreMap::hard();
    if (name == "gumbel")
      return ScoreMap::gumbel(
          json.value("tau", 1.0), seed(),
          json.value("straight_through", false) ? GumbelSample::straight_through : GumbelSample::relaxed);
    if (name == "sparsemax") return ScoreMap::sparsemax();
    if (name == "sigmoid") return ScoreMap::sigmoid(json.value("offset", 0.0), normaliser(Normaliser::none));
    if (name == "relu_squared") return ScoreMap::relu_squared(normaliser(Normaliser::visible));
    if (name == "identity") return ScoreMap::identity(normaliser(Normaliser::visible));
    if (name == "decay") return ScoreMap::decay(gamma, normaliser(Normaliser::l1), form);
    if (name == "linear")
      return ScoreMap::linear(choose<Feature>("feature", json.value("feature", "elu_plus_one"),
                                              {{"elu_plus_one", Feature::elu_plus_one},
                                               {"relu", Feature::relu},
                                               {"exp", Feature::exp},
                                               {"identity", Feature::identity}}),
                              normaliser(Normaliser::l1), gamma, form);
    throw Error("map", "'" + name + "'",
                "softmax, top_k, hard, gumbel, sparsemax, sigmoid, relu_squared, identity, linear or decay");
  }

  Bias bias() {
    const std::string kind = json_.value("bias", "none");
    const at::Tensor* values = out_.terms.find("bias");
    out_.alibi = kind == "alibi";
    if (kind == "none" || values_ == Values::absent) return {};
    if (!values) throw Error("bias", "absent", "a tensor");
    if (kind == "alibi") return Bias::alibi(in_range("alibi_slopes", numbers_of(*values), out_.problem.query.type));
    return kind == "dense" ? Bias::dense(out_.keep_alive(*values, "bias"))
                           : Bias::relative(out_.keep_alive(*values, "bias table"));
  }

  std::optional<PerHead> sink() {
    const at::Tensor* logits = out_.terms.find("sink");
    if (!logits) return std::nullopt;
    if (values_ == Values::absent) return PerHead(0.0);
    return PerHead(in_range("sink", numbers_of(*logits), out_.problem.query.type));
  }

  std::optional<Dropout> dropout() {
    const double probability = json_.value("dropout", 0.0);
    if (probability == 0.0) return std::nullopt;
    return Dropout{probability, seed()};
  }

  Statistics statistics() {
    const Json names = json_.value("statistics", Json::array());
    Statistics asked = names == "all" ? Statistics::all() : Statistics::none();
    if (names.is_array())
      for (const Json& name : names) asked = asked.with(statistic_named(name));
    if (json_.contains("groups")) asked = asked.groups(json_["groups"][0], json_["groups"][1]);
    return asked;
  }

 private:
  Align align() const {
    return choose<Align>("align", json_.value("align", "start"), {{"start", Align::start}, {"end", Align::end}});
  }

  std::uint64_t seed() const {
    if (values_ == Values::absent) return 0;
    const at::Tensor* seed = out_.terms.find("seed");
    if (!seed) throw Error("seed", "absent", "a tensor: dropout and Gumbel noise are drawn from it");
    return static_cast<std::uint64_t>(integers_of(*seed).at(0));
  }

  std::vector<PerHead> scale_parameters(const Json& json) {
    std::vector<PerHead> out;
    std::size_t next = 0;
    for (const Json& parameter : json.value("parameters", Json::array())) {
      if (parameter != "tensor") {
        out.emplace_back(parameter.get<std::vector<double>>());
      } else {
        if (next >= out_.terms.scale().size()) throw Error("scale parameter", "without a tensor", "one in the terms");
        const at::Tensor& tensor = out_.terms.scale()[next++];
        out_.scale_parameters.push_back(static_cast<int>(out.size()));
        out.push_back(values_ == Values::absent
                          ? PerHead(1.0)
                          : PerHead(in_range("scale", numbers_of(tensor), out_.problem.query.type)));
      }
    }
    return out;
  }

  // Rows outside of every document would be zeros that nobody asked for.
  static void require_whole(const std::vector<std::int64_t>& offsets, std::int64_t n, const char* of) {
    if (!offsets.empty() && offsets.front() == 0 && offsets.back() == n) return;
    throw Error("documents", to_string(Shape(offsets)),
                "offsets from 0 to " + std::to_string(n) + ", the number of " + of);
  }

  // Offsets [documents + 1], or [batch, documents + 1].
  std::vector<DocumentOffsets> documents(const at::Tensor& queries) const {
    const at::Tensor* given_keys = out_.terms.find("key_offsets");
    const at::Tensor& keys = given_keys ? *given_keys : queries;
    const auto rows = [](const at::Tensor& offsets) {
      return offsets.dim() == 2 ? offsets.unbind(0) : std::vector<at::Tensor>{offsets};
    };
    const std::vector<at::Tensor> query_rows = rows(queries), key_rows = rows(keys);
    if (query_rows.size() != key_rows.size())
      throw Error("documents", std::to_string(key_rows.size()) + " rows of offsets for the keys",
                  std::to_string(query_rows.size()) + ", as for the queries");
    std::vector<DocumentOffsets> out;
    for (std::size_t b = 0; b < query_rows.size(); ++b) {
      out.push_back({integers_of(query_rows[b]), integers_of(key_rows[b])});
      require_whole(out.back().query, out_.problem.query.shape.at(2), "queries");
      require_whole(out.back().key, out_.problem.key.shape.at(2), "keys");
    }
    return out;
  }

  const Json& json_;
  Description& out_;
  Values values_;
};

Json parse(std::string_view text) {
  static const std::vector<std::string> known = {"causal",   "align",        "window", "prefix", "strided", "block",
                                                 "segments", "exclude_self", "scale",  "map",    "bias",    "soft_cap",
                                                 "dropout",  "statistics",   "groups", "terms"};
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error("problem description", "no JSON text", error.what());
  }
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error("problem description key", "'" + key + "'", "one that is known");
  return json;
}

}  // namespace

Terms::Terms(const std::vector<std::string>& names, at::TensorList tensors) {
  if (names.size() != tensors.size())
    throw Error("terms", std::to_string(tensors.size()) + " tensors",
                std::to_string(names.size()) + ", as the description names");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "scale") {
      scale_.push_back(tensors[i]);
      scale_places_.push_back(i);
    } else {
      tensors_.emplace(names[i], tensors[i]);
      places_.emplace(names[i], i);
    }
  }
}

const at::Tensor* Terms::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::optional<std::size_t> Terms::place(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

Description::Description(std::string_view text, const at::Tensor& query, const at::Tensor& key,
                         const std::optional<at::Tensor>& value, at::TensorList tensors, Values values) try {
  const Json json = parse(text);
  const std::vector<std::string> names = json.value("terms", std::vector<std::string>{});
  const std::vector<at::Tensor> nothing(names.size());
  terms = Terms(names, values == Values::absent && tensors.empty() ? at::TensorList(nothing) : tensors);
  if (values == Values::read) {
    problem.query = keep_alive(query, "query");
    problem.key = keep_alive(key, "key");
    if (value) problem.value = keep_alive(*value, "value");
  }
  Reader reader(json, *this, values);
  problem.mask = reader.mask();
  problem.scale = reader.scale();
  problem.map = reader.map();
  problem.bias = reader.bias();
  if (json.contains("soft_cap")) problem.soft_cap = json["soft_cap"].get<double>();
  problem.sink = reader.sink();
  problem.dropout = reader.dropout();
  problem.statistics = reader.statistics();
} catch (const Json::exception& error) {
  throw Error("problem description", "of wrong types", error.what());
}

StatisticsLayout::StatisticsLayout(const AttentionProblem& problem) {
  const Statistics asked = available_statistics(problem);
  const auto has_gradient = [&](Statistic statistic) {
    constexpr Statistic list[] = {Statistic::log_partition,      Statistic::entropy,        Statistic::mean_score,
                                  Statistic::score_variance,     Statistic::collision,      Statistic::sparsity,
                                  Statistic::normalised_entropy, Statistic::effective_keys, Statistic::participation,
                                  Statistic::sink_mass};
    return problem.map.is_softmax() && std::find(std::begin(list), std::end(list), statistic) != std::end(list);
  };
  const auto place = [&](Statistic statistic) {
    if (!asked.has(statistic)) return;
    const bool integer = statistic == Statistic::visible || statistic == Statistic::argmax;
    (integer ? counted : has_gradient(statistic) ? differentiable : measured).push_back(statistic);
  };
#define ISENTROPIC_PLACE(name) place(Statistic::name);
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_PLACE)
#undef ISENTROPIC_PLACE
}

}  // namespace isentropic::pytorch
