// Masks and terms of a problem on a GPU.
#include "pytorch/cuda/device_problem.hpp"

#include "attention/cuda/plain.hpp"
#include "attention/cuda/tensor_cores.hpp"
#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/validate.hpp"
#include "pytorch/cuda/stream.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

cuda::ElementType element_type(const at::Tensor& tensor, const char* argument) {
  switch (type_of(tensor, argument)) {
    case DType::bfloat16:
      return cuda::ElementType::bfloat16;
    case DType::float16:
      return cuda::ElementType::float16;
    case DType::float64:
      return cuda::ElementType::float64;
    case DType::boolean:
      return cuda::ElementType::boolean;
    default:
      return cuda::ElementType::float32;
  }
}

void require_device(const char* argument, const at::Tensor& tensor, const at::Tensor& query) {
  if (tensor.device() != query.device())
    throw Error(std::string(argument) + " device", tensor.device().str(), query.device().str() + ", as the query");
}

// A view used only for shape checks.
View shape_of(const at::Tensor& tensor, const char* argument, Device device) {
  const Shape sizes = tensor.sizes().vec();
  return View(tensor.const_data_ptr(), type_of(tensor, argument), sizes, contiguous_strides(sizes), device);
}

PerHead as_many(const at::Tensor& numbers, double value) {
  return std::vector<double>(static_cast<std::size_t>(numbers.numel()), value);
}

// The last problem without terms that passed the checks: calls repeat, and a check costs as much as a launch.
struct RightProblem {
  std::shared_ptr<const ProblemSpec> spec;
  View query, key, value;

  bool is(const std::shared_ptr<const ProblemSpec>& other, const AttentionProblem& problem) const {
    const auto same = [](const View& x, const View& y) { return x.type == y.type && x.shape == y.shape; };
    return spec == other && same(query, problem.query) && same(key, problem.key) && same(value, problem.value);
  }
};
thread_local RightProblem last_right_problem;

}  // namespace

DeviceProblem::DeviceProblem(std::string_view text, const at::Tensor& query_, const at::Tensor& key_,
                             const std::optional<at::Tensor>& value_, at::TensorList terms)
    : spec(cached_spec(text)),
      problem(spec->without_tensors()),
      real(statistics_type(query_)),
      query(with_contiguous_rows(query_)),
      key(with_contiguous_rows(key_)),
      stream(current_cuda_stream(query_.get_device())),
      terms_(terms.vec()) {
  if (spec->tensors.size() != terms_.size())
    throw Error("terms", std::to_string(terms_.size()) + " tensors",
                std::to_string(spec->tensors.size()) + ", as the problem names");
  if (value_) value = with_contiguous_rows(*value_);
  require_device("key", key, query);
  if (value.defined()) require_device("value", value, query);
  problem.query = view_of(query, "query"), problem.key = view_of(key, "key");
  if (value.defined()) problem.value = view_of(value, "value");
  check_terms();
  device.type = element_type(query, "query");
  device.batch = query.size(0), device.heads = query.size(1), device.n_q = query.size(2), device.d = query.size(3);
  device.kv_heads = key.size(1), device.n_k = key.size(2), device.d_v = value.defined() ? value.size(3) : 0;
  device.query = query.const_data_ptr(), device.query_stride = strides_of(query);
  device.key = key.const_data_ptr(), device.key_stride = strides_of(key);
  if (value.defined()) device.value = value.const_data_ptr(), device.value_stride = strides_of(value);
  device.soft_cap = spec->soft_cap.value_or(0);
  device.moments = moments_for(available_statistics(problem));
  bind_mask();
  bind_terms();
}

const at::Tensor* DeviceProblem::find(std::string_view name) const {
  const std::optional<std::size_t> place = spec->place(name);
  return place ? &terms_[*place] : nullptr;
}

// Runs the usual checks on the actual shapes, with a harmless value for each number that is on the device.
void DeviceProblem::check_terms() const {
  const bool has_terms = !terms_.empty();
  if (!has_terms && last_right_problem.is(spec, problem)) return;
  AttentionProblem checked = problem;
  if (const at::Tensor* lengths = find("key_lengths"))
    checked.mask = checked.mask.key_lengths(
        std::vector<std::int64_t>(static_cast<std::size_t>(lengths->numel()), checked.key.shape.at(2)));
  const at::Tensor *queries = find("query_offsets"), *keys = find("key_offsets");
  for (const at::Tensor* offsets : {queries, keys})
    if (offsets && (offsets->dim() < 1 || offsets->dim() > 2 || offsets->size(-1) < 2 ||
                    (offsets->dim() == 2 && offsets->size(0) != 1 && offsets->size(0) != query.size(0))))
      throw Error("documents", to_string(offsets->sizes().vec()), "offsets [documents + 1] or [batch, documents + 1]");
  if (queries && keys && queries->sizes() != keys->sizes())
    throw Error("documents", to_string(keys->sizes().vec()) + " for the keys",
                to_string(queries->sizes().vec()) + ", as for the queries");
  if (const at::Tensor* layout = find("layout")) {
    if (!spec->block) throw Error("layout", "given without the sizes of a block", "both");
    checked.mask = checked.mask.block_sparse(shape_of(*layout, "layout", checked.query.device), spec->block->first,
                                             spec->block->second);
  }
  if (const at::Tensor* mask = find("mask"))
    checked.mask = checked.mask.dense(shape_of(*mask, "mask", checked.query.device));
  if (spec->bias != Bias::Kind::none) {
    const at::Tensor* bias = find("bias");
    if (!bias) throw Error("bias", "absent", "a tensor");
    checked.bias = spec->bias == Bias::Kind::alibi ? Bias::alibi(as_many(*bias, 0))
                   : spec->bias == Bias::Kind::dense
                       ? Bias::dense(shape_of(*bias, "bias", checked.query.device))
                       : Bias::relative(shape_of(*bias, "bias table", checked.query.device));
  }
  if (const at::Tensor* sink = find("sink")) checked.sink = as_many(*sink, 0);
  const std::vector<std::size_t> places = spec->scale_places();
  if (checked.scale.is_per_row())
    checked.scale = Scale::per_row(shape_of(terms_.at(places.at(0)), "scale rows", checked.query.device));
  else
    for (std::size_t i = 0; i < places.size(); ++i)
      checked.scale = checked.scale.with_parameter(spec->scale_tensors[i], as_many(terms_[places[i]], 1));
  if (problem.dropout && !find("seed")) throw Error("seed", "absent", "a tensor: dropout is drawn from it");
  validate(checked, value.defined() ? ValueUse::required : ValueUse::ignored);
  if (!has_terms) last_right_problem = {spec, problem.query, problem.key, problem.value};
}

at::Tensor DeviceProblem::keep(at::Tensor tensor) {
  kept_.push_back(std::move(tensor));
  return kept_.back();
}

at::Tensor DeviceProblem::empty(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, query.options().dtype(type));
}

void* DeviceProblem::workspace(std::size_t bytes) {
  return bytes == 0 ? nullptr
                    : keep(empty({static_cast<std::int64_t>(bytes)}, at::kByte)).mutable_data_ptr();  // aligned to 512
}

const void* DeviceProblem::by_head(const at::Tensor& numbers) {
  return keep(numbers.detach().to(query.device(), real).reshape({-1}).expand({device.heads}).contiguous())
      .const_data_ptr();
}

cuda::DenseTerm DeviceProblem::dense(const at::Tensor& tensor) {
  const at::Tensor on_device = keep(tensor.detach().to(query.device()));
  const at::Tensor whole = on_device.expand({device.batch, device.heads, device.n_q, device.n_k});
  cuda::DenseTerm term{whole.const_data_ptr(), element_type(whole, "mask"), {}};
  for (int axis = 0; axis < 4; ++axis) term.stride[axis] = whole.stride(axis);
  return term;
}

cuda::IntegerList DeviceProblem::integers(const at::Tensor& tensor) {
  const bool is_short = tensor.scalar_type() == at::kInt;
  const at::Tensor list = keep(tensor.detach().to(query.device(), is_short ? at::kInt : at::kLong).contiguous());
  if (is_short) return list.const_data_ptr<std::int32_t>();
  return list.const_data_ptr<std::int64_t>();
}

void DeviceProblem::bind_mask() {
  const Mask& mask = spec->mask;
  cuda::VisibleKeys& visible = device.visible;
  if (mask.is_causal) visible.right = 0;
  if (mask.window_part) {
    visible.left = mask.window_part->left;
    visible.right = std::min(visible.right, mask.window_part->right);
  }
  visible.prefix = mask.prefix_keys;
  if (mask.align == Align::end) visible.offset = device.n_k - device.n_q;
  if (find("key_lengths") || find("query_offsets") || mask.segment_length > 0 || is_shard()) find_spans();
  if (mask.strided_part) device.tests.stride = mask.strided_part->stride, device.tests.local = mask.strided_part->local;
  device.tests.excludes_self = mask.excludes_self;
  if (const at::Tensor* tensor = find("mask")) device.tests.mask = dense(*tensor);
  const at::Tensor* layout = find("layout");
  if (!layout) return;
  if (is_shard()) throw Error("block_sparse", "given with a shard", "the whole problem on a GPU, or the CPU");
  const at::Tensor blocks =
      keep(layout->detach().to(query.device())).expand({device.batch, device.heads, layout->size(2), layout->size(3)});
  device.tests.layout = blocks.const_data_ptr<bool>();
  for (int axis = 0; axis < 4; ++axis) device.tests.layout_stride[axis] = blocks.stride(axis);
  device.tests.block_q = spec->block->first, device.tests.block_k = spec->block->second;
}

bool DeviceProblem::is_shard() const { return spec->shard.total_queries >= 0 || spec->shard.total_keys >= 0; }

bool DeviceProblem::has_split_keys() const {
  return spec->shard.total_keys >= 0 && spec->shard.total_keys != device.n_k;
}

cuda::SpanMask DeviceProblem::span_mask() {
  const Mask& mask = spec->mask;
  cuda::SpanMask spans;
  spans.causal = mask.is_causal, spans.aligned_to_end = mask.align == Align::end;
  if (mask.window_part) spans.left = mask.window_part->left, spans.right = mask.window_part->right;
  spans.prefix = mask.prefix_keys, spans.segment = mask.segment_length;
  if (const at::Tensor* lengths = find("key_lengths")) spans.key_lengths = integers(*lengths);
  if (const at::Tensor* queries = find("query_offsets")) {
    const at::Tensor* keys = find("key_offsets");
    spans.query_offsets = integers(*queries), spans.key_offsets = integers(keys ? *keys : *queries);
    spans.documents = queries->size(-1) - 1;
    spans.documents_by_batch = queries->dim() == 2 && queries->size(0) > 1;
  }
  if (is_shard()) bind_shard(spans);
  return spans;
}

// The positions of the local queries and keys in the whole problem.
void DeviceProblem::bind_shard(cuda::SpanMask& spans) {
  const Shard& shard = spec->shard;
  spans.total_queries = std::max<std::int64_t>(shard.total_queries, 0);
  spans.total_keys = std::max<std::int64_t>(shard.total_keys, 0);
  if (shard.key_runs.size() > 1)
    throw Error("shard key runs", std::to_string(shard.key_runs.size()), "one on a GPU: a call for each");
  if (!shard.key_runs.empty()) spans.key_offset = shard.key_runs[0].offset;
  if (shard.query_runs.size() == 1) spans.query_offset = shard.query_runs[0].offset;
  if (shard.query_runs.size() < 2) return;
  std::vector<at::Tensor> places;
  for (const Run& run : shard.query_runs)
    places.push_back(at::arange(run.offset, run.offset + run.length, query.options().dtype(at::kLong)));
  spans.queries = integers(at::cat(places));
}

void DeviceProblem::find_spans() {
  const Mask& mask = spec->mask;
  const cuda::SpanMask spans = span_mask();
  const at::Tensor found = keep(empty({6, device.batch, device.n_q}, at::kInt));
  const std::int64_t rows = device.batch * device.n_q;
  auto* const numbers = found.mutable_data_ptr<std::int32_t>();
  auto* const row_spans = reinterpret_cast<cuda::RowSpans*>(numbers);
  positions_in_document = numbers + 5 * rows;
  require_launched(cuda::find_spans(device, spans, row_spans, numbers + 4 * rows, numbers + 5 * rows, stream));
  device.visible.spans = row_spans;
  device.visible.positions = numbers + 4 * rows;
  device.visible.prefix_varies = mask.prefix_keys > 0 && (spans.documents > 0 || mask.segment_length > 0);
}

void DeviceProblem::bind_terms() {
  if (const at::Tensor* sink = find("sink")) device.sink = by_head(*sink);
  if (const at::Tensor* bias = find("bias")) {
    if (spec->bias == Bias::Kind::alibi) device.slopes = by_head(*bias);
    if (spec->bias == Bias::Kind::dense) device.bias = dense(*bias);
    if (spec->bias == Bias::Kind::relative) {
      device.reach = (bias->size(-1) - 1) / 2;
      device.relative =
          keep(bias->detach().to(query.device(), real).expand({device.heads, bias->size(-1)}).contiguous())
              .const_data_ptr();
    }
  }
  if (!problem.dropout) return;
  device.dropout = problem.dropout->probability;
  const at::Tensor seed = keep(find("seed")->detach().to(query.device(), at::kLong).reshape({-1}));
  device.seed = reinterpret_cast<const std::uint64_t*>(seed.const_data_ptr<std::int64_t>());
}

std::optional<cuda::Problem> DeviceProblem::for_tensor_cores() {
  const std::int64_t widest = std::max(device.d, device.d_v);
  if (!cuda::suits_forward(device) || widest > cuda::kWidestHead || device.n_k == 0) return {};
  // Wide heads, supported only by the forward pass, need no more than whole chunks.
  const auto padded_width = [&](std::int64_t width) {
    const std::int64_t chunks = (width + cuda::kChunkNumbers - 1) / cuda::kChunkNumbers;
    return widest > 128 ? chunks * cuda::kChunkNumbers : widest <= 64 ? 64 : 128;
  };
  cuda::Problem out = device;
  const auto place = [&](const at::Tensor& x, const void*& data, cuda::Strides& stride, std::int64_t& width) {
    width = padded_width(width);
    if (!x.defined()) return;
    if (x.size(3) == width &&
        cuda::rows_begin_at(x.const_data_ptr(), strides_of(x), x.size(0), x.size(1), x.size(2), 16))
      return;
    const at::Tensor padded = keep(at::constant_pad_nd(x, {0, width - x.size(3)}).contiguous());
    data = padded.const_data_ptr(), stride = strides_of(padded);
  };
  std::int64_t key_width = device.d;
  place(query, out.query, out.query_stride, out.d);
  place(key, out.key, out.key_stride, key_width);
  place(value, out.value, out.value_stride, out.d_v);
  return out;
}

}  // namespace isentropic::pytorch
