// Spans and positions of rows on the device against the library's, for random masks.
#include "attention/cuda/spans.cuh"

#include "attention/problem/visibility.hpp"
#include "cuda/device_case.hpp"

namespace isentropic::cuda::spans_test {
namespace {

using List = std::vector<std::int64_t>;

// A mask in the library's form, and the lists of the device's form.
struct MaskCase {
  std::int64_t batch = 1, n_q = 1, n_k = 1;
  Mask mask;
  Shard shard;
  std::int64_t query_offset = 0, key_offset = 0;  // offsets of the only run
  List queries;                                   // positions of the queries, if there are several runs
  List lengths, query_offsets, key_offsets;
  std::int64_t documents = 0;
  bool documents_by_batch = false;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t from(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool coin() { return from(0, 1) == 1; }
  List sorted(std::int64_t count, std::int64_t high) {
    List out;
    for (std::int64_t t = 0; t < count; ++t) out.push_back(from(0, high));
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::mt19937 random_;
};

void add_documents(Draw& draw, MaskCase& c, std::int64_t total_queries, std::int64_t total_keys) {
  c.documents = draw.from(1, 6), c.documents_by_batch = draw.coin();
  std::vector<DocumentOffsets> all;
  for (std::int64_t b = 0; b < (c.documents_by_batch ? c.batch : 1); ++b) {
    all.push_back({draw.sorted(c.documents + 1, total_queries), draw.sorted(c.documents + 1, total_keys)});
    c.query_offsets.insert(c.query_offsets.end(), all.back().query.begin(), all.back().query.end());
    c.key_offsets.insert(c.key_offsets.end(), all.back().key.begin(), all.back().key.end());
  }
  c.mask = c.mask.documents(all);
}

// Makes two runs with a gap between them. Returns the total number of queries.
std::int64_t split_queries(Draw& draw, MaskCase& c) {
  const std::int64_t first = draw.from(0, c.n_q), second = c.query_offset + first + draw.from(0, 9);
  c.shard.query_runs = {Run{c.query_offset, first}, Run{second, c.n_q - first}};
  for (std::int64_t i = 0; i < c.n_q; ++i) c.queries.push_back(i < first ? c.query_offset + i : second + i - first);
  return c.shard.total_queries = second + c.n_q - first + draw.from(0, 9);
}

MaskCase random_case(unsigned seed) {
  Draw draw(seed);
  MaskCase c;
  c.batch = draw.from(1, 3), c.n_q = draw.from(1, 40), c.n_k = draw.from(1, 40);
  std::int64_t total_queries = c.n_q, total_keys = c.n_k;
  if (draw.coin()) {
    c.query_offset = draw.from(0, 9), c.key_offset = draw.from(0, 30);
    c.shard = {.query_runs = {Run{c.query_offset}}, .key_runs = {Run{c.key_offset}}};
    total_queries = c.shard.total_queries = c.query_offset + c.n_q + draw.from(0, 9);
    total_keys = c.shard.total_keys = c.key_offset + c.n_k + draw.from(0, 30);
    if (draw.coin()) total_queries = split_queries(draw, c);
  }
  if (draw.coin()) c.mask = Mask::causal();
  if (draw.coin()) c.mask = c.mask.aligned(Align::end);
  if (draw.coin()) c.mask = c.mask.window(draw.from(1, 20), draw.from(0, 6));
  if (draw.coin()) c.mask = c.mask.prefix(draw.from(1, 8));
  if (draw.coin()) {
    for (std::int64_t b = 0; b < c.batch; ++b) c.lengths.push_back(draw.from(0, total_keys));
    c.mask = c.mask.key_lengths(c.lengths);
  }
  const std::int64_t kind = draw.from(0, 2);
  if (kind == 1) add_documents(draw, c, total_queries, total_keys);
  if (kind == 2) c.mask = c.mask.segments(draw.from(1, 15));
  return c;
}

// place(list) returns the list in memory that the reader can access.
template <class F>
SpanMask span_mask(const MaskCase& c, F place) {
  const auto list = [&](const List& values) { return values.empty() ? IntegerList() : place(values); };
  SpanMask out;
  out.causal = c.mask.is_causal, out.aligned_to_end = c.mask.align == Align::end;
  if (c.mask.window_part) out.left = c.mask.window_part->left, out.right = c.mask.window_part->right;
  out.prefix = c.mask.prefix_keys, out.segment = c.mask.segment_length;
  out.key_lengths = list(c.lengths), out.query_offsets = list(c.query_offsets), out.key_offsets = list(c.key_offsets);
  out.documents = c.documents, out.documents_by_batch = c.documents_by_batch;
  out.queries = list(c.queries), out.query_offset = c.query_offset, out.key_offset = c.key_offset;
  out.total_queries = std::max<std::int64_t>(0, c.shard.total_queries);
  out.total_keys = std::max<std::int64_t>(0, c.shard.total_keys);
  return out;
}

Problem sizes_of(const MaskCase& c) {
  Problem out;
  out.batch = c.batch, out.heads = out.kv_heads = 1, out.n_q = c.n_q, out.n_k = c.n_k, out.d = 1;
  return out;
}

struct Found {
  std::vector<RowSpans> spans;
  std::vector<std::int32_t> positions, in_document;
};

Found on_host(const Problem& sizes, const SpanMask& mask) {
  Found out;
  for (std::int64_t row = 0; row < sizes.batch * sizes.n_q; ++row) {
    const MaskedRow masked(sizes, mask, row / sizes.n_q, row % sizes.n_q);
    out.spans.push_back(masked.spans());
    out.positions.push_back(static_cast<std::int32_t>(masked.place().position - mask.key_offset));
    out.in_document.push_back(static_cast<std::int32_t>(masked.place().position - masked.place().first_key));
  }
  return out;
}

Found on_device(const Problem& sizes, const SpanMask& mask, DeviceMemory& memory) {
  const auto rows = static_cast<std::size_t>(sizes.batch * sizes.n_q);
  auto* spans = static_cast<RowSpans*>(memory.poisoned(rows * sizeof(RowSpans)));
  auto* positions = static_cast<std::int32_t*>(memory.poisoned(rows * 4));
  auto* in_document = static_cast<std::int32_t*>(memory.poisoned(rows * 4));
  require(find_spans(sizes, mask, spans, positions, in_document, nullptr));
  require(cudaDeviceSynchronize());
  return {read_list<RowSpans>(spans, rows), read_list<std::int32_t>(positions, rows),
          read_list<std::int32_t>(in_document, rows)};
}

// Invariants every kernel relies on, whatever the lists contain.
void expect_inside(const Problem& sizes, const RowSpans& row) {
  ASSERT_LE(0, row.prefix_begin);
  ASSERT_LE(row.prefix_begin, row.prefix_end);
  ASSERT_LE(row.prefix_end, row.begin);
  ASSERT_LE(row.begin, row.end);
  ASSERT_LE(row.end, sizes.n_k);
}

void expect_the_librarys(const MaskCase& c, const Found& found) {
  const Problem sizes = sizes_of(c);
  const float* const none = nullptr;
  const AttentionProblem problem = {.query = View(none, {c.batch, 1, c.n_q, 1}),
                                    .key = View(none, {c.batch, 1, c.n_k, 1}),
                                    .mask = c.mask,
                                    .shard = c.shard};
  const Visibility visibility(problem);
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t i = 0; i < c.n_q; ++i) {
      SCOPED_TRACE("batch entry " + std::to_string(b) + ", row " + std::to_string(i));
      const auto row = static_cast<std::size_t>(b * c.n_q + i);
      const RowSpans spans = found.spans[row];
      const VisibleSpans expected = visibility.spans(b, i);
      ASSERT_NO_FATAL_FAILURE(expect_inside(sizes, spans));
      const Span prefix = expected.prefix.size() > 0 ? expected.prefix : Span{0, 0};
      ASSERT_EQ(spans.prefix_begin, prefix.begin);
      ASSERT_EQ(spans.prefix_end, prefix.end);
      ASSERT_EQ(spans.end - spans.begin, expected.band.size());
      if (expected.band.size() > 0) {
        ASSERT_EQ(spans.begin, expected.band.begin);
      }
      if (i > 0) {
        ASSERT_LE(found.spans[row - 1].begin, spans.begin);
        ASSERT_LE(found.spans[row - 1].end, spans.end);
      }
      const QueryPlace place = visibility.place(b, i);
      ASSERT_EQ(found.positions[row], place.position - c.key_offset);
      ASSERT_EQ(found.in_document[row], place.position - place.document.begin);
    }
}

TEST(CudaSpans, OfTheHostAreTheLibrarys) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const MaskCase c = random_case(seed);
    const SpanMask mask = span_mask(c, [](const List& list) { return IntegerList(list.data()); });
    ASSERT_NO_FATAL_FAILURE(expect_the_librarys(c, on_host(sizes_of(c), mask)));
  }
}

TEST(CudaSpans, OfTheDeviceAreTheLibrarys) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const MaskCase c = random_case(seed);
    DeviceMemory memory;
    const SpanMask mask = span_mask(c, [&](const List& list) {
      if (seed % 2 == 0) return IntegerList(memory.list(list));
      return IntegerList(memory.list(std::vector<std::int32_t>(list.begin(), list.end())));
    });
    ASSERT_NO_FATAL_FAILURE(expect_the_librarys(c, on_device(sizes_of(c), mask, memory)));
  }
}

TEST(CudaSpans, StayInsideWhateverTheListsSay) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MaskCase c = random_case(seed);
    Draw draw(seed);
    for (List* list : {&c.lengths, &c.query_offsets, &c.key_offsets})
      for (std::int64_t& entry : *list)
        entry = draw.coin() ? draw.from(std::numeric_limits<std::int64_t>::min(), -1)
                            : draw.from(0, std::numeric_limits<std::int64_t>::max()) >> draw.from(0, 60);
    const SpanMask mask = span_mask(c, [](const List& list) { return IntegerList(list.data()); });
    for (const RowSpans& row : on_host(sizes_of(c), mask).spans)
      ASSERT_NO_FATAL_FAILURE(expect_inside(sizes_of(c), row));
  }
}

}  // namespace
}  // namespace isentropic::cuda::spans_test
