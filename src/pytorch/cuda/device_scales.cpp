// The scales of a problem's rows on a GPU, and the gradients of their laws.
#include "attention/cuda/plain.hpp"
#include "attention/problem/scale_formulas.hpp"
#include "isentropic/entropy_solver.hpp"
#include "pytorch/cuda/device_problem.hpp"
#include "pytorch/cuda/stream.hpp"

namespace isentropic::pytorch {
namespace {

int number_of(const ScaleLaw& law) { return static_cast<int>(&law - Scale::laws().data()); }

bool is_one_number(const ProblemSpec& spec) {
  const Scale& scale = spec.scale;
  const auto is_one = [](const PerHead& values) { return values.values().size() == 1; };
  return spec.scale_places().empty() && !scale.is_per_row() && !scale.looks_at_n() &&
         scale.law().name != Scale::laws()[static_cast<int>(LawNumber::llama4)].name &&
         std::ranges::all_of(scale.parameters(), is_one);
}

}  // namespace

// If tests hide individual keys, these are counted; otherwise the spans give the number.
const std::int64_t* DeviceProblem::visible_counts() {
  const bool hides = device.tests.any() || device.bias.data;
  if (counts_) return counts_;
  if (has_split_keys()) return counts_ = keep(counts_of_whole()).const_data_ptr<std::int64_t>();
  if (!hides) return nullptr;
  const at::Tensor counts = keep(empty({device.batch, device.heads, device.n_q}, at::kLong));
  require_launched(cuda::count_visible(device, counts.mutable_data_ptr<std::int64_t>(), stream));
  return counts_ = counts.const_data_ptr<std::int64_t>();
}

// Number of keys each row sees in the whole problem, of which only some are local.
at::Tensor DeviceProblem::counts_of_whole() {
  if (device.tests.any() || device.bias.data)
    throw Error("scale " + spec->scale.name(), "given with a shard of keys that are tested one by one",
                "a mask of spans, or all keys here");
  cuda::Problem whole = device;
  cuda::SpanMask mask = span_mask();
  whole.n_k = spec->shard.total_keys, mask.key_offset = 0;
  const at::Tensor found = empty({device.batch, 1, device.n_q, 4}, at::kInt);
  require_launched(cuda::find_spans(whole, mask, reinterpret_cast<cuda::RowSpans*>(found.mutable_data_ptr()), nullptr,
                                    nullptr, stream));
  const at::Tensor ends = found.unflatten(3, {2, 2});  // of the prefix and the band
  const at::Tensor counts = (ends.select(4, 1) - ends.select(4, 0)).sum(3);
  return counts.expand({device.batch, device.heads, device.n_q}).contiguous();
}

cuda::LawParameter DeviceProblem::law_parameter(std::size_t index) {
  const auto tensor = std::ranges::find(spec->scale_tensors, index);
  if (tensor != spec->scale_tensors.end()) {
    const std::size_t place = spec->scale_places()[static_cast<std::size_t>(tensor - spec->scale_tensors.begin())];
    return {by_head(terms_[place]), true, 0};
  }
  const std::vector<double>& values = spec->scale.parameters()[index].values();
  if (values.size() == 1) return {nullptr, false, values[0]};
  return {by_head(at::tensor(values, at::kDouble)), true, 0};
}

cuda::ScaleFormula DeviceProblem::formula() {
  cuda::ScaleFormula law;
  law.law = number_of(spec->scale.law());
  law.learnable = spec->scale.learnable();
  for (std::size_t i = 0; i < spec->scale.parameters().size(); ++i) law.parameters[i] = law_parameter(i);
  law.positions_in_document = positions_in_document;
  if (spec->scale.looks_at_n()) law.visible = visible_counts();
  return law;
}

void DeviceProblem::find_scales(const at::Tensor& lambda, std::int64_t* status) {
  const Scale& scale = spec->scale;
  if (is_one_number(*spec)) {
    device.scale = scale.lambda({0, device.d, 0, 0});
    return;
  }
  if (scale.is_target_entropy()) {
    solve_target_entropy(lambda, status);
  } else if (scale.is_per_row()) {
    const at::Tensor& rows = terms_[spec->scale_places().at(0)];
    lambda.copy_(rows.detach().to(query.device(), real).expand({device.batch, device.heads, device.n_q}));
  } else {
    require_launched(cuda::row_scales(device, formula(), lambda.mutable_data_ptr(), stream));
  }
  take_scales(lambda);
}

void DeviceProblem::take_scales(const at::Tensor& lambda) {
  if (is_one_number(*spec))
    device.scale = spec->scale.lambda({0, device.d, 0, 0});
  else
    device.scales = keep(lambda).const_data_ptr();
}

// A bounded number of passes; those after the last row is solved are no-ops.
void DeviceProblem::solve_target_entropy(const at::Tensor& lambda, std::int64_t* status) {
  cuda::TargetEntropy solve;
  solve.target = law_parameter(0);
  solve.visible = visible_counts();
  solve.workspace = workspace(cuda::target_entropy_workspace(device));
  void* const numbers = lambda.mutable_data_ptr();
  require_launched(cuda::target_entropy_begin(device, solve, numbers, stream));
  const at::Tensor sums = keep(empty({5, device.batch, device.heads, device.n_q}, real));
  cuda::ForwardOutput records;
  void** const fields[] = {&records.rows.m, &records.rows.z, &records.rows.u, &records.rows.w, &records.rows.c};
  for (int field = 0; field < 5; ++field) *fields[field] = sums[field].mutable_data_ptr();

  const cuda::Problem whole = device;
  device.scales = numbers, device.active = cuda::target_entropy_active(solve);
  device.moments = MomentSet::all, device.sink = nullptr, device.dropout = 0;
  for (int pass = 0; pass < EntropySolver::kMaxIterations; ++pass) {
    require_launched(run_forward(*this, records));
    require_launched(cuda::target_entropy_update(device, records.rows, solve, numbers, stream));
  }
  device = whole;
  require_launched(cuda::target_entropy_end(device, solve, numbers, status, nullptr, stream));
}

at::Tensor DeviceProblem::scale_gradient(const at::Tensor& lambda_gradient) {
  if (spec->scale.is_per_row()) return lambda_gradient;
  const int learnable = spec->scale.learnable();
  if (learnable == 0) return empty({0}, at::kFloat);
  at::Tensor out = empty({learnable, device.heads}, real);
  require_launched(cuda::scale_parameter_gradients(device, formula(), lambda_gradient.const_data_ptr(),
                                                   out.mutable_data_ptr(), stream));
  return out;
}

}  // namespace isentropic::pytorch
