#include "core/thread_pool.h"

#include <algorithm>
#include <utility>

namespace ferl {

namespace {

// How often an idle thread looks around before it sleeps. Waking one takes as long as a small node; yielding, it is no
// burden to others.
constexpr int kLooks = 200;

}  // namespace

ThreadPool::ThreadPool(int n_threads, std::function<void()> poll) : n_threads_(n_threads), poll_(std::move(poll)) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    ++n_calls_;
  }
  wake_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void ThreadPool::start() {
  has_started_ = true;
  try {
    for (int t = 1; t < n_threads_; ++t) helpers_.emplace_back([this] { help(); });
  } catch (...) {
    // The system grants no more threads or memory: the threads that started, and the calling one, do the work.
  }
}

void ThreadPool::run(std::size_t n_tasks, bool is_worth, const std::function<void(std::size_t)>& task) {
  Job job{n_tasks, task};
  if (n_tasks < 2 || n_threads_ < 2 || !is_worth) {
    work(job);
  } else {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!has_started_) start();
      jobs_.push_back(&job);
      ++n_calls_;
    }
    wake_.notify_all();
    work(job);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    }
    // Nobody joins any more; those at work are on their last task of it.
    for (int look = 0; look < kLooks && job.n_helpers > 0; ++look) std::this_thread::yield();
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return job.n_helpers == 0; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

void ThreadPool::help() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_) {
    if (Job* job = oldest_open()) {
      job->n_helpers.fetch_add(1);
      lock.unlock();
      work(*job);
      lock.lock();
      // The last look at the job: its owner may end with it as soon as this is seen.
      if (--job->n_helpers == 0) done_.notify_all();
      continue;
    }
    const unsigned known = n_calls_;
    lock.unlock();
    for (int look = 0; look < kLooks && n_calls_ == known; ++look) std::this_thread::yield();
    lock.lock();
    wake_.wait(lock, [&] { return n_calls_ != known; });
  }
}

void ThreadPool::work(Job& job) {
  const bool is_owner = std::this_thread::get_id() == owner_;
  try {
    for (std::size_t i; !job.stop && (i = job.next.fetch_add(1)) < job.n_tasks;) {
      job.task(i);
      if (is_owner && poll_) poll_();
    }
  } catch (...) {
    if (!job.stop.exchange(true)) job.error = std::current_exception();
  }
}

ThreadPool::Job* ThreadPool::oldest_open() const {
  const auto open = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) { return job->is_open(); });
  return open == jobs_.end() ? nullptr : *open;
}

}  // namespace ferl
