// Threads that live as long as a piece of work with many short parallel steps. A task may itself have tasks; idle
// helpers take tasks of any open job. std::thread and not OpenMP, see parallel.h.
//
// A thread that waits for its own job's last tasks takes no other's: scratch memory of a thread is never in use twice.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ferl {

class ThreadPool {
 public:
  // A pool of n_threads, including the calling thread; `poll` runs between the tasks of this thread. The others start
  // when there is work for them.
  ThreadPool(int n_threads, std::function<void()> poll);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs task(0) .. task(n_tasks - 1), on this thread alone unless it `is_worth` the others' attention. May be called
  // from a task. The first exception stops the rest and is rethrown here once nobody is at work on them.
  void run(std::size_t n_tasks, bool is_worth, const std::function<void(std::size_t)>& task);

  int n_threads() const { return n_threads_; }

 private:
  struct Job {
    std::size_t n_tasks;
    const std::function<void(std::size_t)>& task;
    std::atomic<std::size_t> next{0};
    std::atomic<int> n_helpers{0};  // at work on it
    std::atomic<bool> stop{false};
    std::exception_ptr error{};
    bool is_open() const { return !stop && next < n_tasks; }
  };

  void start();
  void help();
  void work(Job& job);
  Job* oldest_open() const;

  const int n_threads_;
  const std::function<void()> poll_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::vector<std::thread> helpers_;
  std::mutex mutex_;                  // of what follows
  std::condition_variable wake_;      // helpers, when there is a job
  std::condition_variable done_;      // whoever waits for helpers
  std::vector<Job*> jobs_;            // the oldest first: the largest tasks
  std::atomic<unsigned> n_calls_{0};  // jobs so far; threads that wait for a job read it without the mutex
  bool has_started_ = false, is_over_ = false;
};

}  // namespace ferl
