// The operators called from C++: options become the description that the operators take.
#include <ATen/core/dispatch/Dispatcher.h>

#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "isentropic/pytorch/attention.hpp"
#include "pytorch/attention.hpp"
#include "pytorch/description.hpp"
#include "pytorch/errors.hpp"

namespace isentropic::pytorch {
namespace {

using Json = nlohmann::json;

// Options as the operators take them.
struct Call {
  explicit Call(const AttentionOptions& options) {
    set_mask(options.mask);
    set_scale(options.scale);
    json["map"] = {{"name", options.map}};
    add("mask", options.visible);
    set_bias(options);
    if (options.soft_cap) json["soft_cap"] = *options.soft_cap;
    add("sink", options.sink);
    if (options.dropout > 0) json["dropout"] = options.dropout;
    if (options.dropout > 0 || options.map == "gumbel") add("seed", at::randint(std::int64_t{1} << 62, {1}, at::kLong));
    const bool all = options.statistics == std::vector<std::string>{"all"};
    json["statistics"] = all ? Json("all") : Json(options.statistics);
  }

  std::string text() const { return json.dump(); }

  Json json = {{"terms", Json::array()}};
  std::vector<at::Tensor> terms;

 private:
  void add(const char* name, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    json["terms"].push_back(name);
    terms.push_back(tensor);
  }

  void set_mask(const Mask& mask) {
    if (mask.dense_part.present() || mask.block_sparse_part || mask.excluded_keys.present())
      throw Error("mask", "given with a dense or block-sparse part or with excluded keys",
                  "the tensor `visible` instead");
    json["causal"] = mask.is_causal;
    json["align"] = mask.align == Align::end ? "end" : "start";
    json["exclude_self"] = mask.excludes_self;
    if (mask.window_part) json["window"] = {mask.window_part->left, mask.window_part->right};
    if (mask.prefix_keys > 0) json["prefix"] = mask.prefix_keys;
    if (mask.strided_part) json["strided"] = {mask.strided_part->stride, mask.strided_part->local};
    if (mask.segment_length > 0) json["segments"] = mask.segment_length;
    if (!mask.lengths.empty()) add("key_lengths", at::tensor(mask.lengths, at::kLong));
    if (mask.document_offsets.empty()) return;
    const auto offsets = [&](std::vector<std::int64_t> DocumentOffsets::*part) {
      std::vector<at::Tensor> rows;
      for (const DocumentOffsets& document : mask.document_offsets)
        rows.push_back(at::tensor(document.*part, at::kLong));
      return at::stack(rows);
    };
    add("query_offsets", offsets(&DocumentOffsets::query));
    add("key_offsets", offsets(&DocumentOffsets::key));
  }

  void set_scale(const ScaleOptions& scale) {
    json["scale"] = {{"law", scale.law}};
    if (scale.length > 0) json["scale"]["length"] = scale.length;
    if (!scale.numbers.empty()) json["scale"]["numbers"] = scale.numbers;
    if (scale.law != "per_row")
      json["scale"]["parameters"] = std::vector<std::string>(scale.parameters.size(), "tensor");
    for (const at::Tensor& parameter : scale.parameters) add("scale", parameter);
  }

  void set_bias(const AttentionOptions& options) {
    for (const auto& [kind, tensor] : {std::pair("dense", options.bias), std::pair("alibi", options.alibi_slopes),
                                       std::pair("relative", options.relative_bias)}) {
      if (!tensor.defined()) continue;
      if (json.contains("bias")) throw Error("bias", "given twice", "one of bias, alibi_slopes and relative_bias");
      json["bias"] = kind;
      add("bias", tensor);
    }
  }
};

}  // namespace

AttentionOutput attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const AttentionOptions& options) {
  return with_python_errors([&] {
    const Call call(options);
    const auto found = attention_forward(call.text(), query, key, value, call.terms);
    const StatisticsLayout layout(Description(call.text(), {}, {}, {}, {}, Values::absent).problem);
    AttentionOutput out;
    out.output = std::get<0>(found);
    const auto name_rows = [&](const std::vector<Statistic>& names, const at::Tensor& stack) {
      for (std::size_t s = 0; s < names.size(); ++s)
        out.statistics.emplace(name(names[s]), stack.select(0, static_cast<std::int64_t>(s)));
    };
    name_rows(layout.differentiable, std::get<1>(found));
    name_rows(layout.measured, std::get<2>(found));
    name_rows(layout.counted, std::get<3>(found));
    return out;
  });
}

at::Tensor attention_weights(const at::Tensor& query, const at::Tensor& key, const std::vector<std::int64_t>& rows,
                             const AttentionOptions& options) {
  return with_python_errors([&] {
    using Weights = at::Tensor(c10::string_view, const at::Tensor&, const at::Tensor&, at::TensorList, at::IntArrayRef);
    static const auto operation =
        c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::attention_weights", "").typed<Weights>();
    const at::NoGradGuard no_gradient;
    const Call call(options);
    return operation.call(call.text(), query, key, call.terms, rows);
  });
}

}  // namespace isentropic::pytorch
