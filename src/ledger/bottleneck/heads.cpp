// Several heads: what they convey together, and how redundant they are: 10.4.12, 10.4.13.
#include <functional>
#include <numbers>
#include <optional>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "experiments/tools/random_laws.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/attention_heads.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

// ---- 10.4.12: Y a function of bits Z_1 ... Z_H ----

using Rule = std::function<std::optional<std::size_t>(const std::vector<std::size_t>&)>;  // none: does not occur

Joint joint_of_bits(std::size_t heads, const Rule& rule) {
  constexpr std::size_t kLabels = 8;
  Joint out{Variables(heads, 2), {}};
  out.sizes.push_back(kLabels);
  out.p.assign((std::size_t{1} << heads) * kLabels, 0);
  double count = 0;
  for (std::size_t z = 0; z < std::size_t{1} << heads; ++z) {
    std::vector<std::size_t> bits;
    for (std::size_t h = heads; h-- > 0;) bits.push_back(z >> h & 1);
    if (const auto y = rule(bits)) out.p[z * kLabels + *y] += 1, count += 1;
  }
  for (double& p : out.p) p /= count;
  return out;
}

std::optional<std::size_t> copies(const std::vector<std::size_t>& z) {
  for (std::size_t bit : z)
    if (bit != z[0]) return {};
  return z[0];
}
std::optional<std::size_t> parity(const std::vector<std::size_t>& z) {
  std::size_t out = 0;
  for (std::size_t bit : z) out ^= bit;
  return out;
}
std::optional<std::size_t> everything(const std::vector<std::size_t>& z) {
  std::size_t out = 0;
  for (std::size_t bit : z) out = 2 * out + bit;
  return out;
}
std::optional<std::size_t> conjunction(const std::vector<std::size_t>& z) { return z[0] & z[1]; }
std::optional<std::size_t> majority(const std::vector<std::size_t>& z) { return z[0] + z[1] + z[2] > 1; }

// The sum over single heads minus `times` each pair's co-information.
double pairs_only(const HeadDecomposition& heads, double times) {
  double out = 0;
  for (double single : heads.single) out += single;
  for (const auto& term : heads.terms)
    if (term.heads.size() == 2) out -= times * term.co_information;
  return out;
}

void information_of_all_heads(Check& check) {
  struct Case {
    std::string name;
    std::size_t heads;
    Rule rule;
    double total, printed, once;  // bits; every ordered pair, every pair once
  };
  const std::vector<Case> cases = {{"two copies", 2, copies, 1, 0, 1},
                                   {"XOR", 2, parity, 1, 2, 1},
                                   {"two independent bits", 2, everything, 2, 2, 2},
                                   {"AND", 2, conjunction, .811, 1, .811},
                                   {"three copies", 3, copies, 1, -3, 0},
                                   {"parity of three", 3, parity, 1, 0, 0},
                                   {"majority of three", 3, majority, 1, 1.302, .934},
                                   {"three independent bits", 3, everything, 3, 3, 3}};
  for (const Case& one : cases) {
    const HeadDecomposition heads = decompose_heads(joint_of_bits(one.heads, one.rule));
    const double formula = check.choose(heads.inclusion_exclusion(), pairs_only(heads, 2));
    check.near(one.name + ": I(all heads; Y) - its decomposition, bits", to_bits(heads.total - formula), 0, 1e-12);
    check.near(one.name + ": chain rule", to_bits(heads.chain_sum()), one.total, 6e-4);
    check.near(one.name + ": as printed", to_bits(pairs_only(heads, 2)), one.printed, 6e-4);
    check.near(one.name + ": each pair once", to_bits(pairs_only(heads, 1)), one.once, 6e-4);
  }
  const double quoted[] = {.118, .242};
  for (std::size_t h : {2U, 3U}) {
    Mean printed, once;
    double exact = 0;
    for (std::int64_t t = 0; t < check.effort(4000, 40000); ++t) {
      Joint joint{Variables(h, 2), {}};
      joint.sizes.push_back(3);
      joint.p = dirichlet(check.random(), (std::size_t{1} << h) * 3, .4);
      const HeadDecomposition heads = decompose_heads(joint);
      printed.add(to_bits(std::abs(pairs_only(heads, 2) - heads.total)));
      once.add(to_bits(std::abs(pairs_only(heads, 1) - heads.total)));
      exact = std::max(
          {exact, std::abs(heads.chain_sum() - heads.total), std::abs(heads.inclusion_exclusion() - heads.total)});
    }
    const std::string of = "random joints of " + std::to_string(h) + " heads: ";
    check.near(of + "worst error of chain rule and inclusion-exclusion", exact, 0, 1e-12);
    check.as_quoted(of + "mean error as printed, bits", printed, quoted[h - 2], 300, 5e-4);
    check.as_quoted(of + "mean error with each pair once, bits", once, h == 2 ? 0 : .070, 300, h == 2 ? 1e-12 : 5e-4);
  }
}

void sign_of_co_information(Check& check) {
  const auto bits = [](const Rule& rule) { return to_bits(co_information(joint_of_bits(2, rule), {{0}, {1}, {2}})); };
  check.near("XOR, nothing but synergy: the subtracted term, bits", bits(parity), check.choose(-1., 1.), 1e-12);
  check.near("two copies, nothing but redundancy", bits(copies), 1, 1e-12);
  // From the entropies of all subsets.
  double error = 0;
  for (int t = 0; t < 200; ++t) {
    const Joint joint{{2, 3, 2}, dirichlet(check.random(), 12, .4)};
    const double difference = mutual_information(joint, {0}, {1}) - mutual_information(joint, {0}, {1}, {2});
    double sum = 0;
    for (const auto& [subset, sign] : std::vector<std::pair<Variables, int>>{
             {{0}, 1}, {{1}, 1}, {{2}, 1}, {{0, 1}, -1}, {{0, 2}, -1}, {{1, 2}, -1}, {{0, 1, 2}, 1}})
      sum += sign * entropy(joint.marginal(subset).p);
    error = std::max({error, std::abs(sum - difference), std::abs(co_information(joint, {{0}, {1}, {2}}) - sum)});
  }
  check.near("random joints: I(Z1;Z2) - I(Z1;Z2|Y) less the sum of entropies", error, 0, 1e-12);
  const HeadDecomposition two = decompose_heads(joint_of_bits(2, parity));
  check.near("terms beyond the single heads", static_cast<double>(two.terms.size() - two.single.size()), 1, 0);
}

// ---- 10.4.13: attention matrices of n = 8 ----

constexpr std::size_t kKeys = 8;

Table shifted_diagonal(std::size_t offset) {
  Table out(kKeys, kKeys);
  for (std::size_t q = 0; q < kKeys; ++q) out(q, (q + offset) % kKeys) = 1;
  return out;
}

// Attends to key 0 or 1, according to one bit of the query's number.
Table reads_bit(std::size_t bit) {
  Table out(kKeys, kKeys);
  for (std::size_t q = 0; q < kKeys; ++q) out(q, q >> bit & 1) = 1;
  return out;
}

// Equal scores, run through the kernel.
Table uniform_head() { return weights_of(Table(kKeys, 4), Table(kKeys, 4)); }

// sum over pairs i != j of H(J_i | J_j), bits.
double sum_of_conditional_entropies(const std::vector<Table>& heads) {
  double out = 0;
  for (std::size_t i = 0; i < heads.size(); ++i)
    for (std::size_t j = 0; j < heads.size(); ++j)
      if (i != j) out += to_bits(conditional_entropy(transposed(joint_of_heads(heads[i], heads[j]))));
  return out;
}

double printed_index(const std::vector<Table>& heads) {
  const auto h = static_cast<double>(heads.size());
  return sum_of_conditional_entropies(heads) / (h * h);
}

void direction_of_redundancy(Check& check) {
  const std::vector<Table> identical(4, shifted_diagonal(0)), independent = {reads_bit(2), reads_bit(1), reads_bit(0)};
  const std::vector<Table> same_bit(3, reads_bit(2)), uniform(4, uniform_head());
  check.at_least("index of identical heads less that of independent ones",
                 check.choose(head_redundancy(identical) - head_redundancy(independent),
                              printed_index(identical) - printed_index(independent)),
                 0);
  std::int64_t outside = 0;
  for (int t = 0; t < 200; ++t) {
    std::vector<Table> heads;
    for (int h = 0; h < 3; ++h) {
      Table head(kKeys, kKeys);
      for (std::size_t q = 0; q < kKeys; ++q) {
        const std::vector<double> row = weights_of(check.random().normals(kKeys, check.random().uniform(.1, 20)));
        std::copy(row.begin(), row.end(), head.row(q).begin());
      }
      heads.push_back(head);
    }
    outside += head_redundancy(heads) < 0 || head_redundancy(heads) > 1;
  }
  check.never("R of random heads outside [0, 1]", outside);
  check.near("R of four identical heads", head_redundancy(identical), 1, 1e-12);
  check.near("R of three heads that read different bits", head_redundancy(independent), 0, 1e-12);
  check.near("R of three heads that read the same bit", head_redundancy(same_bit), 1, 1e-12);
  check.near("R of uniform heads", head_redundancy(uniform), 0, 1e-12);
  check.near("printed index of identical heads", printed_index(identical), 0, 1e-12);
  check.near("printed index of different bits", printed_index(independent), 2. / 3, 1e-12);
  check.near("printed index of the same bit", printed_index(same_bit), 0, 1e-12);
  check.near("printed index of uniform heads", printed_index(uniform), 2.25, 1e-12);
}

void normaliser_of_pairs(Check& check) {
  const std::vector<Table> heads(4, uniform_head());
  const double h = 4, normaliser = check.choose(h * (h - 1), h * h);
  check.near("mean H(J_i | J_j) of independent uniform heads, bits", sum_of_conditional_entropies(heads) / normaliser,
             std::log2(8.), 1e-12);
}

void heads_need_queries_in_common(Check& check) {
  // One head attends sharply to random positions, the other always one position further.
  const Table scores(kKeys, kKeys, check.random().normals(kKeys * kKeys, 6));
  Table first(kKeys, kKeys), second(kKeys, kKeys), one_query(kKeys, kKeys);
  for (std::size_t q = 0; q < kKeys; ++q) {
    const std::vector<double> row = weights_of(scores.row(q));
    for (std::size_t k = 0; k < kKeys; ++k) first(q, k) = second(q, (k + 1) % kKeys) = row[k];
  }
  for (std::size_t j = 0; j < kKeys; ++j)
    for (std::size_t k = 0; k < kKeys; ++k) one_query(j, k) = first(0, j) * second(0, k);
  const Table over_queries = joint_of_heads(first, second);
  const Table& joint = check.choose(over_queries, one_query);
  check.at_least("H(J1) - H(J1|J2): what one head tells of the other",
                 entropy(row_marginal(joint)) - conditional_entropy(transposed(joint)), .05);
  check.near("one query: H(J1|J2) - H(J1)",
             conditional_entropy(transposed(one_query)) - entropy(row_marginal(one_query)), 0, 1e-12);
  std::int64_t accepted = 1;
  try {
    joint_of_heads(Table(1, kKeys, 1. / kKeys), Table(1, kKeys, 1. / kKeys));
  } catch (const Error&) {
    accepted = 0;
  }
  check.never("a single query is taken for a joint distribution", accepted);
}

void redundancy_and_similarity_differ(Check& check) {
  std::vector<Table> shifts;
  for (std::size_t offset = 0; offset < 4; ++offset) shifts.push_back(shifted_diagonal(offset));
  const std::vector<Table> uniform(4, uniform_head()), identical(4, shifted_diagonal(0));
  check.near("R of heads with different fixed offsets", head_redundancy(shifts), 1, 1e-12);
  check.near("similarity of heads with different fixed offsets", head_similarity(shifts), 0, 1e-12);
  check.near("R of uniform heads", head_redundancy(uniform), 0, 1e-12);
  check.near("similarity of uniform heads", head_similarity(uniform), 1, 1e-12);
  check.near("similarity of identical heads", head_similarity(identical), 1, 1e-12);
}

}  // namespace

std::vector<Claim> head_claims() {
  return {
      computed(
          "000-10.4.12a", Verdict::corrected,
          "What all heads say about Y is sum_h I(Z_h;Y) - sum over ordered pairs of I(Z_i;Z_j;Y)",
          "sum_h I(Z_h;Y|Z_<h), or inclusion-exclusion over all sets of heads; each pair once suffices for two heads",
          information_of_all_heads),
      computed("000-10.4.12b", Verdict::corrected, "The subtracted three-way term is the synergy of the heads",
               "I(Z1;Z2) - I(Z1;Z2|Y): positive where redundancy dominates, negative for synergy",
               sign_of_co_information),
      listed("000-10.4.12c", Verdict::slip, "h stands for the number of heads and for a head"),
      computed("000-10.4.13a", Verdict::corrected, "The mean of H(J1|J2) over pairs of heads measures redundancy",
               "it is high for unrelated heads; use the mean of I(J1;J2) / min(H(J1), H(J2)), in [0, 1]",
               direction_of_redundancy),
      computed("000-10.4.13b", Verdict::corrected, "The mean over pairs of heads divides by h^2",
               "by h(h-1): a head says everything about itself, so the diagonal is 0", normaliser_of_pairs),
      computed(
          "000-10.4.13c", Verdict::holds_if, "H(J1|J2) is defined by the heads' weights",
          "with a joint distribution over queries; within one query the heads draw independently and H(J1|J2) = H(J1)",
          heads_need_queries_in_common),
      computed("000-10.4.13d", Verdict::note, "An index of information calls heads at fixed offsets redundant",
               "report the Jensen-Shannon similarity of the weights beside it", redundancy_and_similarity_differ),
  };
}

}  // namespace isentropic::ledger::bottleneck
