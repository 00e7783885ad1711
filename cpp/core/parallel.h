// Threads for independent tasks. std::thread and not OpenMP: after an OpenMP region a forked child hangs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ferl {

// What long work calls now and then, on the thread that started it: shows progress, and throws to stop the work.
// Calls are thinned to ten a second, so callers may tick as often as they like.
class Monitor {
 public:
  explicit Monitor(std::function<void(std::size_t)> report) : report_(std::move(report)) {}

  void tick(std::size_t progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    report_(progress);
  }

 private:
  std::function<void(std::size_t)> report_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
};

// Runs task(0) .. task(n_tasks - 1) on up to n_threads threads, the calling one among them; `poll` runs between the
// calling thread's tasks. The first exception stops the rest and is rethrown here once every thread has ended.
template <class Task, class Poll>
void parallel_for(std::size_t n_tasks, int n_threads, const Task& task, const Poll& poll) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::mutex error_mutex;

  auto work = [&](bool calling_thread) {
    try {
      for (std::size_t i; !stop && (i = next.fetch_add(1)) < n_tasks;) {
        task(i);
        if (calling_thread) poll();
      }
    } catch (...) {
      stop = true;
      const std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  };

  std::vector<std::thread> helpers;
  const std::size_t n_helpers = std::min<std::size_t>(n_tasks, n_threads > 1 ? n_threads : 1) - (n_tasks > 0 ? 1 : 0);
  helpers.reserve(n_helpers);
  try {
    for (std::size_t t = 0; t < n_helpers; ++t) helpers.emplace_back(work, false);
  } catch (...) {
    // The system grants no more threads or memory: the threads that started, and this one, do the work.
  }
  work(true);
  for (auto& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace ferl
