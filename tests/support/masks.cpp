// The mask parts.
#include <algorithm>
#include <limits>

#include "support/parts.hpp"

namespace support {
namespace {

using isentropic::Align;
using isentropic::Mask;

std::string suffix(Repeat repeat) {
  switch (repeat) {
    case Repeat::none:
      return "";
    case Repeat::batch:
      return " for all entries";
    case Repeat::heads:
      return " for all heads";
    case Repeat::rows:
      return " for all rows";
  }
  return "";
}

std::vector<std::int64_t> random_offsets(Random* random, std::int64_t n) {
  std::vector<std::int64_t> out = {0, random->integer(0, n), random->integer(0, n), random->integer(0, n), n};
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Shape repeated(Shape shape, Repeat repeat) {
  if (repeat == Repeat::batch) shape[0] = 1;
  if (repeat == Repeat::heads) shape[1] = 1;
  if (repeat == Repeat::rows) shape[2] = 1;
  return shape;
}

Part unmasked() {
  return {"unmasked", [](Instance&) {}};
}

Part causal(Align align) {
  return {align == Align::start ? "causal" : "causal to the end", [=](Instance& x) {
            // No method adds causality, since masks are built from it. Here parts come in any order.
            x.problem.mask.is_causal = Mask::causal().is_causal;
            x.problem.mask.align = align;
            x.oracle.mask.causal = true;
            x.oracle.mask.align = align == Align::start ? reference::Align::start : reference::Align::end;
          }};
}

Part aligned_to_the_end() {
  return {"aligned to the end", [](Instance& x) {
            x.problem.mask = x.problem.mask.aligned(Align::end);
            x.oracle.mask.align = reference::Align::end;
          }};
}

Part window(std::int64_t left, std::int64_t right) {
  return {"window(" + std::to_string(left) + ", " + std::to_string(right) + ")", [=](Instance& x) {
            x.problem.mask = x.problem.mask.window(left, right);
            x.oracle.mask.has_window = true;
            x.oracle.mask.left = left;
            x.oracle.mask.right = right;
          }};
}

Part prefix(std::int64_t keys) {
  return {"prefix(" + std::to_string(keys) + ")", [=](Instance& x) {
            x.problem.mask = x.problem.mask.prefix(keys);
            x.oracle.mask.prefix = keys;
          }};
}

Part exclude_self() {
  return {"exclude_self", [](Instance& x) {
            x.problem.mask = x.problem.mask.exclude_self();
            x.oracle.mask.exclude_self = true;
          }};
}

Part exclude_keys() {
  return {"exclude_keys", [](Instance& x) {
            std::vector<std::int64_t>& keys = x.oracle.mask.excluded_keys;
            for (std::int64_t i = 0; i < x.sizes.n_q; ++i) keys.push_back(x.random.integer(-1, x.sizes.n_k));
            x.problem.mask = x.problem.mask.exclude_keys(x.store_integers(keys, {x.sizes.n_q}));
          }};
}

Part strided(std::int64_t stride, std::int64_t local) {
  return {"strided(" + std::to_string(stride) + ", " + std::to_string(local) + ")", [=](Instance& x) {
            x.problem.mask = x.problem.mask.strided(stride, local);
            x.oracle.mask.stride = stride;
            x.oracle.mask.local = local;
          }};
}

Part block_sparse(std::int64_t block_q, std::int64_t block_k, Repeat repeat) {
  return {"block-sparse(" + std::to_string(block_q) + ", " + std::to_string(block_k) + ")" + suffix(repeat),
          [=](Instance& x) {
            const Shape full{x.sizes.batch, x.sizes.heads, (x.sizes.n_q + block_q - 1) / block_q,
                             (x.sizes.n_k + block_k - 1) / block_k};
            const Shape shape = repeated(full, repeat);
            std::vector<char> layout(count(shape));
            for (char& flag : layout) flag = x.random.uniform() < 0.5;
            x.problem.mask = x.problem.mask.block_sparse(x.store_flags(layout, shape), block_q, block_k);
            x.oracle.mask.blocks = expanded(layout, shape, full);
            x.oracle.mask.block_q = block_q;
            x.oracle.mask.block_k = block_k;
          }};
}

Part key_lengths(std::vector<std::int64_t> lengths) {
  return {"key lengths", [=](Instance& x) {
            x.problem.mask = x.problem.mask.key_lengths(lengths);
            x.oracle.mask.key_lengths = lengths;
          }};
}

Part key_lengths() {
  return {"key lengths", [](Instance& x) {
            std::vector<std::int64_t> lengths;
            for (std::int64_t b = 0; b < x.sizes.batch; ++b) lengths.push_back(x.random.integer(0, x.sizes.n_k));
            key_lengths(lengths).apply(x);
          }};
}

Part documents(std::vector<std::int64_t> query, std::vector<std::int64_t> key) {
  return {"documents", [=](Instance& x) {
            x.problem.mask = query == key
                                 ? x.problem.mask.documents(query)
                                 : x.problem.mask.documents(std::vector<isentropic::DocumentOffsets>{{query, key}});
            x.oracle.mask.documents = {{query, key}};
          }};
}

Part documents() {
  return {"documents", [](Instance& x) {
            std::vector<isentropic::DocumentOffsets> offsets;
            for (std::int64_t b = 0; b < x.sizes.batch; ++b) {
              offsets.push_back({random_offsets(&x.random, x.sizes.n_q), random_offsets(&x.random, x.sizes.n_k)});
              x.oracle.mask.documents.push_back({offsets.back().query, offsets.back().key});
            }
            x.problem.mask = x.problem.mask.documents(offsets);
          }};
}

Part segments(std::int64_t length) {
  return {"segments(" + std::to_string(length) + ")", [=](Instance& x) {
            x.problem.mask = x.problem.mask.segments(length);
            x.oracle.mask.segment = length;
          }};
}

Part dense_boolean(Repeat repeat) {
  return {"dense boolean" + suffix(repeat), [=](Instance& x) {
            const Shape full{x.sizes.batch, x.sizes.heads, x.sizes.n_q, x.sizes.n_k};
            const Shape shape = repeated(full, repeat);
            std::vector<char> flags(count(shape));
            for (char& flag : flags) flag = x.random.uniform() < 0.7;
            x.problem.mask = x.problem.mask.dense(x.store_flags(flags, shape));
            x.oracle.mask.dense_boolean = expanded(flags, shape, full);
          }};
}

Part dense_additive(Repeat repeat) {
  return {"dense additive" + suffix(repeat), [=](Instance& x) {
            const Shape full{x.sizes.batch, x.sizes.heads, x.sizes.n_q, x.sizes.n_k};
            const Shape shape = repeated(full, repeat);
            Numbers added = x.random.normals(count(shape));
            for (double& number : added) {
              const double choice = x.random.uniform();
              if (choice < 0.15) number = -std::numeric_limits<double>::infinity();
              if (choice > 0.9) number = lowest(x.type);
            }
            x.problem.mask = x.problem.mask.dense(x.store(&added, shape));
            x.oracle.mask.dense_additive = expanded(added, shape, full);
          }};
}

std::vector<std::vector<Part>> mask_combinations() {
  return {{unmasked()},
          {causal()},
          {causal(Align::end)},
          {window(3, 2)},
          {window(1)},
          {causal(), window(4)},
          {causal(Align::end), window(3)},
          {aligned_to_the_end(), window(2, 3)},
          {exclude_self()},
          {exclude_self(), key_lengths()},
          {causal(), exclude_self(), window(3)},
          {window(2, 2), exclude_self(), segments(4)},
          {causal(Align::end), exclude_self(), documents()},
          {exclude_self(), aligned_to_the_end(), strided(2, 2), dense_boolean()},
          {exclude_self(), causal(), prefix(3)},
          {exclude_keys()},
          {exclude_keys(), exclude_self(), causal(Align::end), prefix(2)},
          {exclude_keys(), window(3, 2), documents(), dense_boolean()},
          {causal(), prefix(3)},
          {causal(), window(2), prefix(2)},
          {causal(Align::end), window(2), prefix(100)},
          {window(2, 1), prefix(1)},
          {strided(3, 2)},
          {strided(4, 0)},
          {causal(Align::end), strided(3, 2)},
          {causal(), prefix(2), strided(2, 1)},
          {block_sparse(2, 3)},
          {block_sparse(4, 4, Repeat::heads)},
          {causal(), block_sparse(3, 2, Repeat::batch)},
          {key_lengths()},
          {causal(Align::end), key_lengths()},
          {causal(), window(3), prefix(1), key_lengths()},
          {documents()},
          {causal(), documents()},
          {causal(Align::end), documents()},
          {causal(Align::end), window(3), prefix(1), documents()},
          {strided(2, 1), documents()},
          {causal(), documents(), key_lengths()},
          {causal(Align::end), documents(), key_lengths()},
          {segments(4)},
          {causal(), segments(5)},
          {causal(Align::end), prefix(1), segments(3)},
          {causal(Align::end), segments(4), key_lengths()},
          {dense_boolean()},
          {dense_boolean(Repeat::batch)},
          {dense_boolean(Repeat::heads)},
          {dense_boolean(Repeat::rows)},
          {causal(), dense_boolean()},
          {dense_additive()},
          {dense_additive(Repeat::rows)},
          {causal(Align::end), dense_additive(Repeat::heads)},
          {causal(), prefix(2), window(5), strided(3, 3), block_sparse(2, 2), key_lengths(), dense_boolean()}};
}

std::vector<std::vector<Part>> causal_combinations() {
  return {{causal()},
          {causal(Align::end)},
          {causal(), window(4)},
          {causal(), key_lengths()},
          {causal(Align::end), documents()},
          {causal(), segments(4)},
          {causal(), dense_boolean()}};
}

}  // namespace support
