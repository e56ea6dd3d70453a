// A written problem without its tensors, and the cache of parsed problems.
#include "attention/problem/problem_spec.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace isentropic {
namespace {

// Texts that differ in one number are distinct entries, and a schedule writes a new one every step, so the cache is
// cleared when full.
class SpecCache {
 public:
  std::shared_ptr<const ProblemSpec> find(std::string_view text) const {
    const std::shared_lock lock(mutex_);
    const auto found = specs_.find(text);
    return found == specs_.end() ? nullptr : found->second;
  }

  std::shared_ptr<const ProblemSpec> add(std::string text, ProblemSpec spec) {
    constexpr std::size_t kMost = 1024;
    const std::unique_lock lock(mutex_);
    if (specs_.size() >= kMost) specs_.clear();
    return specs_.try_emplace(std::move(text), std::make_shared<const ProblemSpec>(std::move(spec))).first->second;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const ProblemSpec>, Hash, std::equal_to<>> specs_;
};

SpecCache& cache() {
  static SpecCache specs;
  return specs;
}

}  // namespace

std::optional<std::size_t> ProblemSpec::place(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name);
  if (found == tensors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tensors.begin());
}

std::vector<std::size_t> ProblemSpec::scale_places() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i] == "scale") out.push_back(i);
  return out;
}

AttentionProblem ProblemSpec::without_tensors() const {
  AttentionProblem problem;
  problem.mask = mask;
  problem.scale = scale;
  problem.map = map;
  problem.soft_cap = soft_cap;
  if (place("sink")) problem.sink = PerHead(0.0);
  if (dropout > 0) problem.dropout = Dropout{dropout, 0};
  problem.statistics = statistics;
  problem.shard = shard;
  return problem;
}

std::shared_ptr<const ProblemSpec> cached_spec(std::string_view text) {
  if (auto known = cache().find(text)) return known;
  return cache().add(std::string(text), spec_from_json(text));
}

std::string cached_text(const ProblemSpec& spec) {
  std::string text = to_json(spec);
  if (!cache().find(text)) cache().add(text, spec);
  return text;
}

}  // namespace isentropic
