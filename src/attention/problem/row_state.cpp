// Row records, stored as one array per field.
#include "isentropic/row_state.hpp"

#include <algorithm>
#include <limits>

#include "base/element.hpp"

namespace isentropic {
namespace {

double real(const Tensor& field, std::int64_t row) {
  if (!field.present()) return 0;
  return with_compute_type(field.type(), [&]<class T>() { return static_cast<double>(field.values<T>()[row]); });
}

void set_real(Tensor& field, std::int64_t row, double value) {
  if (!field.present()) return;
  with_compute_type(field.type(), [&]<class T>() { field.values<T>()[row] = static_cast<T>(value); });
}

}  // namespace

double RowState::scale(std::int64_t row) const { return real(lambda, row); }

TargetEntropyStatus RowState::solution(std::int64_t row) const {
  return static_cast<TargetEntropyStatus>(status.values<std::int64_t>()[row]);
}

MomentSet RowState::moments() const {
  return w.present() ? MomentSet::all : u.present() ? MomentSet::entropy : MomentSet::partition;
}

SoftmaxRecord<double> RowState::record(std::int64_t row) const {
  return {real(m, row),
          {real(z, row), real(u, row), real(w, row), real(c, row)},
          k.values<std::int64_t>()[row],
          a.values<std::int64_t>()[row]};
}

std::vector<SoftmaxRecord<double>> RowState::records() const {
  std::vector<SoftmaxRecord<double>> out;
  for (std::int64_t row = 0; has_records() && row < rows(); ++row) out.push_back(record(row));
  return out;
}

void RowState::allocate_records(MomentSet moments) {
  const auto reals = [&](bool wanted) { return wanted ? Tensor(lambda.type(), lambda.shape()) : Tensor(); };
  m = reals(true), z = reals(true);
  u = reals(moments >= MomentSet::entropy);
  w = reals(moments >= MomentSet::all), c = reals(moments >= MomentSet::all);
  k = Tensor(DType::int64, lambda.shape()), a = Tensor(DType::int64, lambda.shape());
  with_compute_type(m.type(),
                    [&]<class T>() { std::ranges::fill(m.values<T>(), -std::numeric_limits<T>::infinity()); });
  std::ranges::fill(a.values<std::int64_t>(), -1);
}

void RowState::set_record(std::int64_t row, const SoftmaxRecord<double>& record) {
  set_real(m, row, record.m), set_real(z, row, record.sums.z), set_real(u, row, record.sums.u);
  set_real(w, row, record.sums.w), set_real(c, row, record.sums.c);
  k.values<std::int64_t>()[row] = record.k;
  a.values<std::int64_t>()[row] = record.a;
}

}  // namespace isentropic
