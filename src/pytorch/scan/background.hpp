// Work that is done in the order it is given, on a thread of its own: what a layer said is added up while a GPU
// computes the next one.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace isentropic::pytorch {

class Background {
 public:
  using Work = std::function<void()>;

  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  // What has not begun is left out.
  ~Background() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  // `bytes`: of the memory that it holds. Waits until there is room beside what waits already.
  void add(Work work, std::size_t bytes = 0) {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.wait(lock, [&] { return waiting_.empty() || held_ + bytes <= kMostBytes; });
    waiting_.push_back({std::move(work), bytes});
    held_ += bytes;
    changed_.notify_all();
  }

  // Now where there is nothing to wait for, else after what was added.
  void add_in_order(Work work) { is_idle() ? work() : add(std::move(work)); }

  // Waits for all of it. Throws what went wrong; what came after that was left out.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.empty() && !works_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // pinning memory takes time
  struct Waiting {
    Work work;
    std::size_t bytes;
  };

  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && !works_ && !error_;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      Work work = std::move(waiting_.front().work);
      held_ -= waiting_.front().bytes;
      waiting_.pop_front();
      works_ = true;
      const bool is_well = !error_;
      lock.unlock();
      std::exception_ptr error;
      if (is_well) try {
          work();
        } catch (...) {
          error = std::current_exception();
        }
      work = nullptr;
      lock.lock();
      if (error) error_ = error;
      works_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::size_t held_ = 0;
  bool works_ = false, ends_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace isentropic::pytorch
