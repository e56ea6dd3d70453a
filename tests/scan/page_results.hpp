// Results for page tests: planted heads over a text with a token that is markup, and a large synthetic model.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "scan/planted.hpp"

namespace isentropic::scan {

inline constexpr const char* kMarkup = "</script><img src=x onerror=alert(1)>";

// Head 0.0 dispersed, 0.1 previous_token, 0.2 sink on key 0, 1.0 retrieval, 1.1 without a label, 1.2 local; layer 1
// sees 128 keys.
inline Result planted_result() {
  constexpr std::int64_t kTokens = 256;
  const auto ids = some_ids(kTokens);
  Result about;
  about.model = "models/<b>books</b>", about.family = "llama", about.scale = "inverse_sqrt_d", about.map = "softmax";
  about.parameters = 13100000, about.trained_length = 256, about.length = kTokens;
  for (const std::int32_t id : ids) about.tokens_of_window.push_back(" word" + std::to_string(id));
  about.tokens_of_window[0] = "<s>", about.tokens_of_window[1] = kMarkup;
  std::vector<LayerDescription> layers = {{.module = "layers.0", .heads = 3, .head_width = 16},
                                          {.module = "layers.1", .heads = 3, .head_width = 16, .window = 128}};
  Scanner scanner(about, layers);
  scanner.begin_text("book.txt");
  scanner.begin_window(ids);
  tell(scanner, 0, {uniform_head(kTokens), previous_head(kTokens), sink_head(kTokens, 0)}, ids);
  tell(scanner, 1, {copy_head(ids), content_head(kTokens, 3), local_head(kTokens)}, ids);
  scanner.add_loss(3.25, kTokens - 1);
  scanner.add_residual(0, 0.75);
  for (const std::int64_t length : {128, 256, 512}) {
    const double grown = std::log(static_cast<double>(length));
    scanner.add_length({length, static_cast<double>(length), 4}, {{grown, 0.5 * grown, 1}, {1, 0.5 * grown, 1}});
  }
  Result out = scanner.finish();
  for (HeadResult& head : out.heads) head.statistics["peak"] = {0.5, 0};
  return out;
}

// An encoder-decoder that read 200 tokens, " read0" ..., and wrote 300, " wrote0" ...: head 0.0 of the encoder attends
// to key 5, 1.0 of the decoder to the previous token, and row i of the cross-attention head 2.0 to key 2 i / 3, with
// weight 3/4.
inline Result encoder_decoder_result() {
  constexpr std::int64_t kRead = 200, kWritten = 300;
  Result about;
  about.model = "models/translates", about.family = "t5", about.length = kRead;
  for (std::int64_t i = 0; i < kRead; ++i) about.tokens_of_window.push_back(" read" + std::to_string(i));
  for (std::int64_t i = 0; i < kWritten; ++i) about.written_of_window.push_back(" wrote" + std::to_string(i));
  about.tokens_of_window[199] = "</s>", about.written_of_window[0] = "<pad>";
  Scanner scanner(about, {{.module = "encoder", .kind = Kind::encoder, .heads = 1, .head_width = 16},
                          {.module = "decoder", .kind = Kind::decoder, .heads = 1, .head_width = 16},
                          {.module = "across", .kind = Kind::cross, .heads = 1, .head_width = 16}});
  const auto read = some_ids(kRead), written = some_ids(kWritten, 2);
  scanner.begin_text("sentences");
  scanner.begin_window(read, written);
  Weights encoder(kRead, std::vector<double>(kRead, 0.5 / (kRead - 1)));
  for (auto& row : encoder) row[5] = 0.5;
  Weights across(kWritten, std::vector<double>(kRead, 0.25 / (kRead - 1)));
  for (std::size_t i = 0; i < kWritten; ++i) across[i][2 * i / 3] = 0.75;
  tell(scanner, 0, {encoder}, read);
  tell(scanner, 1, {previous_head(kWritten)}, written);
  tell(scanner, 2, {across}, written);
  return scanner.finish();
}

// The same model after a change. Head 0.1 is now a sink on key 7 and its peak rose by 0.25, from 0.5; 1.0 no longer
// retrieves, its score lower by 0.5; 1.2 has large scores; the entropy of 1.1 grows twice as fast with the length. Head
// 0.0 has no peak to compare, 0.2 no entropy.
inline Result planted_change() {
  Result out = planted_result();
  out.model = "models/tuned", out.scale = "log_n";
  out.loss = Spread{3, 0};
  out.heads[0].statistics.erase("peak");
  out.heads[1].labels = {{"sink", 0.75, "key 7"}};
  out.heads[1].statistics["peak"] = {0.75, 0};
  out.heads[2].statistics.erase("entropy");
  out.heads[3].labels.clear();
  out.heads[3].statistics["retrieval_score"].mean -= 0.5;
  for (double& entropy : out.heads[4].length_entropies) entropy *= 2;
  out.heads[5].labels.push_back({"large_scores", 120, ""});
  out.lengths.back().loss = 3.5;
  return out;
}

// As much of everything as a scan can contain, with many-digit numbers; every head has a label, head 7.7 a rare one.
inline Result large_result(std::size_t layers, std::size_t heads, std::int64_t tokens) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(1e-4, 1);
  const auto many = [&](std::size_t count) {
    std::vector<double> out(count);
    for (double& x : out) x = uniform(random) / 16;
    return out;
  };
  Result out;
  out.model = "large", out.length = out.tokens = tokens, out.windows = 1;
  for (std::int64_t t = 0; t < tokens; ++t) out.tokens_of_window.push_back(" token number " + std::to_string(t));
  for (std::int64_t length = 1024; length <= tokens; length *= 2)
    out.lengths.push_back({length, static_cast<double>(length), 3.14159265});
  for (std::size_t l = 0; l < layers; ++l) {
    LayerDescription about{.module = "model.layers." + std::to_string(l) + ".self_attn", .head_width = 128};
    about.heads = static_cast<std::int64_t>(heads);
    out.layers.push_back({about, uniform(random), uniform(random)});
    for (std::size_t h = 0; h < heads; ++h) out.layers.back().similarities.push_back(many(heads));
    for (std::size_t h = 0; h < heads; ++h) {
      HeadResult head{.layer = l, .head = h};
      for (const char* name : {"entropy",
                               "normalised_entropy",
                               "effective_keys",
                               "entropy_without_first",
                               "peak",
                               "collision",
                               "participation",
                               "sparsity",
                               "first_mass",
                               "recent_mass",
                               "previous_weight",
                               "retrieval_score",
                               "sink_weight",
                               "mean_distance",
                               "sink_mass",
                               "max_score",
                               "mean_score",
                               "score_variance",
                               "log_partition",
                               "visible",
                               "least_normalised_entropy",
                               "max_uncapped_score",
                               "output_gate",
                               "effective_rank"})
        head.statistics[name] = {uniform(random), uniform(random) / 100};
      head.labels = {{"sink", 0.3 + 0.6 * uniform(random), "key 0"}};
      if (l == 7 && h == 7) head.labels = {{"retrieval", 0.21, ""}};
      head.entropy_curve = many(kCurvePoints), head.key_strip = many(kCurvePoints), head.distance_profile = many(16);
      for (std::size_t row = 0; row < kBlocks; ++row) head.blocks.push_back(many(kBlocks));
      for (std::size_t k = 0; k < kHeavyKeys; ++k)
        head.heavy_keys.push_back({static_cast<std::int64_t>(k), uniform(random), " token number 12345"});
      head.nearest = Neighbour{l, h == 0 ? std::size_t{1} : std::size_t{0}, uniform(random)};
      head.length_entropies = many(out.lengths.size());
      head.tile = {tokens - kTile, tokens - kTile, head.blocks};
      for (std::int64_t r = 0; r < static_cast<std::int64_t>(kExactRows); ++r) {
        ExactRow row{.position = r * tokens / 8, .keys = {}, .rest = uniform(random)};
        for (const double weight : many(kKeysOfRow))
          row.keys.push_back({static_cast<std::int64_t>(random() % static_cast<unsigned>(tokens)), weight});
        head.exact_rows.push_back(row);
      }
      out.heads.push_back(std::move(head));
    }
  }
  return out;
}

}  // namespace isentropic::scan
