// Runs the claims in parallel, each with a seed that depends only on its id.
#include "ledger/run.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/mix.hpp"

namespace isentropic::ledger {
namespace {

std::uint64_t seed_of(const Claim& claim, std::uint64_t seed) {
  std::uint64_t out = mix({seed});
  for (unsigned char c : claim.id) out = mix({out, c});
  return out;
}

Outcome outcome_of(const Claim& claim, const Options& options) {
  Outcome out{.claim = claim, .sound = {}, .printed = {}, .plots = {}, .error = {}};
  out.checked = claim.is_checked(options.effort);
  if (!out.checked) return out;
  try {
    const Check sound = run_check(claim, Reading::sound, options);
    out.sound = sound.comparisons();
    out.plots = sound.plots();
    if (claim.fails_as_printed()) out.printed = run_check(claim, Reading::printed, options).comparisons();
  } catch (const std::exception& error) {
    out.error = error.what();
  }
  return out;
}

}  // namespace

bool Outcome::sound_passes() const { return error.empty() && all_pass(sound); }

std::optional<bool> Outcome::printed_form_fails() const {
  if (!checked || !claim.fails_as_printed()) return {};
  return error.empty() && any_fails(printed);
}

bool Outcome::passed() const { return !checked || (sound_passes() && printed_form_fails().value_or(true)); }

Check run_check(const Claim& claim, Reading reading, const Options& options) {
  Check check(reading, options.effort, seed_of(claim, options.seed));
  claim.check(check);
  return check;
}

std::vector<Outcome> run_claims(const std::vector<Claim>& claims, const Options& options, const Done& done) {
  std::vector<Outcome> out(claims.size());
  std::vector<char> ready(claims.size(), 0);
  std::atomic<std::size_t> next = 0;
  std::size_t told = 0;
  std::mutex telling;
  const auto work = [&] {
    for (std::size_t x = next++; x < claims.size(); x = next++) {
      out[x] = outcome_of(claims[x], options);
      const std::scoped_lock lock(telling);
      ready[x] = 1;
      for (; told < claims.size() && ready[told]; ++told)
        if (done) done(out[told]);
    }
  };
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  std::vector<std::jthread> helpers;
  for (int t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  helpers.clear();  // joins
  return out;
}

}  // namespace isentropic::ledger
