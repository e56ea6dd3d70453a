// Builds both problems of a case from the same numbers.
#include "support/case.hpp"

#include <cmath>
#include <cstring>
#include <sstream>

namespace support {
namespace {

using isentropic::bfloat16;
using isentropic::float16;

void write(double value, DType type, std::byte* to) {
  const auto put = [&](auto x) { std::memcpy(to, &x, sizeof x); };
  switch (type) {
    case DType::float32:
      return put(static_cast<float>(value));
    case DType::bfloat16:
      return put(isentropic::to_bfloat16(static_cast<float>(value)));
    case DType::float16:
      return put(isentropic::to_float16(static_cast<float>(value)));
    default:
      return put(value);
  }
}

// Row-major index in the small shape of each row-major index in the large one.
std::vector<std::size_t> broadcast_map(const Shape& small, const Shape& large) {
  std::vector<std::size_t> out(count(large));
  for (std::size_t x = 0; x < out.size(); ++x) {
    std::size_t rest = x, step = 1, index = 0;
    for (std::size_t axis = large.size(); axis-- > 0;) {
      const std::size_t here = rest % static_cast<std::size_t>(large[axis]);
      rest /= static_cast<std::size_t>(large[axis]);
      if (small[axis] > 1) index += here * step;
      step *= static_cast<std::size_t>(small[axis]);
    }
    out[x] = index;
  }
  return out;
}

}  // namespace

std::size_t count(const Shape& shape) {
  std::size_t out = 1;
  for (std::int64_t length : shape) out *= static_cast<std::size_t>(length);
  return out;
}

double rounded(double value, DType type) {
  switch (type) {
    case DType::float32:
      return static_cast<float>(value);
    case DType::bfloat16:
      return to_float(isentropic::to_bfloat16(static_cast<float>(value)));
    case DType::float16:
      return to_float(isentropic::to_float16(static_cast<float>(value)));
    default:
      return value;
  }
}

double lowest(DType type) {
  switch (type) {
    case DType::float32:
      return -3.40282346638528859812e+38;
    case DType::bfloat16:
      return -3.38953138925153547590e+38;
    case DType::float16:
      return -65504;
    default:
      return std::numeric_limits<double>::lowest();
  }
}

std::byte* Instance::allocate(std::size_t bytes) {
  storage_.emplace_back(bytes + 8);  // never empty, so that an empty view still has an address
  return storage_.back().data();
}

View Instance::store(Numbers* numbers, const Shape& shape, DType as, Layout layout) {
  const std::size_t size = isentropic::size_of(as);
  const std::int64_t gap = layout == Layout::interleaved ? 3 : 0;
  Shape stride = isentropic::contiguous_strides(shape);
  std::size_t total = count(shape);
  if (layout == Layout::interleaved) {
    const std::int64_t row = shape[3] + gap;
    stride = {shape[2] * shape[1] * row, row, shape[1] * row, 1};
    total = static_cast<std::size_t>(shape[0] * stride[0]);
  }
  std::byte* data = allocate(total * size);
  for (std::size_t x = 0; x < total; ++x) write(std::numeric_limits<double>::quiet_NaN(), as, data + x * size);
  for (std::size_t x = 0; x < numbers->size(); ++x) {
    std::size_t rest = x;
    std::int64_t offset = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[axis])) * stride[axis];
      rest /= static_cast<std::size_t>(shape[axis]);
    }
    write((*numbers)[x], as, data + static_cast<std::size_t>(offset) * size);
    (*numbers)[x] = rounded((*numbers)[x], as);
  }
  return View(data, as, shape, stride);
}

View Instance::store_flags(const std::vector<char>& flags, const Shape& shape) {
  static_assert(sizeof(bool) == 1);
  std::byte* data = allocate(flags.size());
  for (std::size_t x = 0; x < flags.size(); ++x) data[x] = flags[x] ? std::byte{1} : std::byte{0};
  return View(data, DType::boolean, shape, isentropic::contiguous_strides(shape));
}

View Instance::store_integers(const std::vector<std::int64_t>& integers, const Shape& shape) {
  std::byte* data = allocate(integers.size() * sizeof(std::int64_t));
  if (!integers.empty()) std::memcpy(data, integers.data(), integers.size() * sizeof(std::int64_t));
  return View(data, DType::int64, shape, isentropic::contiguous_strides(shape));
}

std::string Case::describe() const {
  std::ostringstream out;
  out << "batch " << sizes.batch << ", heads " << sizes.heads << "/" << sizes.kv_heads << ", " << sizes.n_q << "x"
      << sizes.n_k << ", d " << sizes.d << ", d_v " << sizes.d_v << ", " << isentropic::name(type)
      << (layout == Layout::interleaved ? ", interleaved" : "") << ", amplitude " << amplitude << ", seed " << seed;
  for (const Part& part : parts) out << ", " << part.name;
  return out.str();
}

Instance build(const Case& description) {
  Instance out(description.seed);
  const Sizes& sizes = out.sizes = description.sizes;
  out.type = description.type;
  reference::Problem& oracle = out.oracle;
  oracle.batch = sizes.batch;
  oracle.heads = sizes.heads;
  oracle.kv_heads = sizes.kv_heads;
  oracle.n_q = sizes.n_q;
  oracle.n_k = sizes.n_k;
  oracle.d = sizes.d;
  oracle.d_v = sizes.d_v;
  oracle.lowest = lowest(description.type);
  const Shape query{sizes.batch, sizes.heads, sizes.n_q, sizes.d};
  const Shape key{sizes.batch, sizes.kv_heads, sizes.n_k, sizes.d};
  const Shape value{sizes.batch, sizes.kv_heads, sizes.n_k, sizes.d_v};
  oracle.query = out.random.normals(count(query), description.amplitude);
  oracle.key = out.random.normals(count(key), description.amplitude);
  oracle.value = out.random.normals(count(value));
  out.problem.query = out.store(&oracle.query, query, out.type, description.layout);
  out.problem.key = out.store(&oracle.key, key, out.type, description.layout);
  out.problem.value = out.store(&oracle.value, value, out.type, description.layout);
  // Tests run in parallel on small problems, so threads would only wait; threads_test.cpp covers them.
  out.problem.executor = &isentropic::serial_executor();
  for (const Part& part : description.parts) part.apply(out);
  return out;
}

template <class T>
std::vector<T> expanded(const std::vector<T>& numbers, const Shape& from, const Shape& to) {
  const std::vector<std::size_t> source = broadcast_map(from, to);
  std::vector<T> out(source.size());
  for (std::size_t x = 0; x < out.size(); ++x) out[x] = numbers[source[x]];
  return out;
}

template std::vector<double> expanded(const std::vector<double>&, const Shape&, const Shape&);
template std::vector<char> expanded(const std::vector<char>&, const Shape&, const Shape&);

Numbers reduced(const Numbers& numbers, const Shape& from, const Shape& to) {
  const std::vector<std::size_t> target = broadcast_map(to, from);
  Numbers out(count(to), 0);
  for (std::size_t x = 0; x < numbers.size(); ++x) out[target[x]] += numbers[x];
  return out;
}

}  // namespace support
