// Runs work in order on its own thread: a layer's results are accumulated while a GPU computes the next layer.
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
  // Drops work that has not begun.
  ~Background() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  // `bytes`: the memory that the work holds. Waits until this fits into the limit along with the work already queued.
  void add(Work work, std::size_t bytes = 0) {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.wait(lock, [&] { return waiting_.empty() || held_ + bytes <= kMostBytes; });
    waiting_.push_back({std::move(work), bytes});
    held_ += bytes;
    changed_.notify_all();
  }

  // Runs immediately if there is nothing to wait for, otherwise after the work already added.
  void add_in_order(Work work) { is_idle() ? work() : add(std::move(work)); }

  // Waits for all work. Rethrows an error; work after it was skipped.
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
