// The thread pool and parallel_for at their hardest: many short jobs, jobs within jobs, exceptions, pools that end as
// soon as they begin, several pools at a time. Compiled with -fsanitize=thread, it says whether they race; with any
// compiler, whether every task runs once.
//
//   thread_pool_stress N_ROUNDS
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/parallel.h"
#include "core/thread_pool.h"

namespace {

using ferl::ThreadPool;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

// Not atomic on purpose: what tasks write, whoever called them reads afterwards without a lock.
void every_task_runs_once(ThreadPool& pool, std::size_t n_tasks) {
  std::vector<int> n_runs(n_tasks, 0);
  pool.run(n_tasks, true, [&](std::size_t i) { ++n_runs[i]; });
  for (const int own : n_runs) require(own == 1, "a task of a job did not run once");
}

void tasks_have_tasks(ThreadPool& pool) {
  std::vector<std::vector<int>> n_runs(7, std::vector<int>(9, 0));
  pool.run(7, true, [&](std::size_t i) {
    pool.run(9, i % 2 == 0, [&](std::size_t j) {
      std::vector<int> inner(3, 0);
      if (j == 4) pool.run(3, true, [&](std::size_t k) { ++inner[k]; });
      n_runs[i][j] += 1 + inner[0] + inner[1] + inner[2];
    });
  });
  for (const auto& of_task : n_runs)
    for (std::size_t j = 0; j < 9; ++j)
      require(of_task[j] == (j == 4 ? 4 : 1), "a task within a task did not run once");
}

void the_first_exception_arrives(ThreadPool& pool, std::size_t at) {
  std::atomic<int> n_at_work{0};
  bool is_caught = false;
  try {
    pool.run(40, true, [&](std::size_t i) {
      ++n_at_work;
      if (i % 40 == at) {
        --n_at_work;
        throw std::runtime_error("meant");
      }
      --n_at_work;
    });
  } catch (const std::runtime_error&) {
    is_caught = true;
  }
  require(is_caught, "an exception was lost");
  require(n_at_work == 0, "somebody was still at work on a job that had ended");
}

void one_round(std::size_t round) {
  std::size_t n_polls = 0;  // the poll runs on this thread alone
  ThreadPool pool(2 + static_cast<int>(round % 4), [&] { ++n_polls; });
  for (std::size_t job = 0; job < 20; ++job) every_task_runs_once(pool, job % 13);
  tasks_have_tasks(pool);
  the_first_exception_arrives(pool, round % 40);
  every_task_runs_once(pool, 100);
  require(n_polls > 0, "the poll never ran");
  ThreadPool idle(3, [] {});
  ThreadPool(4, [] {}).run(2, true, [](std::size_t) {});
  std::vector<int> n_runs(50, 0);
  ferl::parallel_for(50, 3, [&](std::size_t i) { ++n_runs[i]; }, [] {});
  for (const int own : n_runs) require(own == 1, "a task of parallel_for did not run once");
}

}  // namespace

int main(int n_arguments, char** arguments) {
  const auto n_rounds = static_cast<std::size_t>(n_arguments > 1 ? std::atoi(arguments[1]) : 200);
  std::vector<std::thread> callers;  // as several fits in one process
  for (int t = 0; t < 2; ++t)
    callers.emplace_back([=] {
      for (std::size_t round = 0; round < n_rounds; ++round) one_round(round);
    });
  for (auto& own : callers) own.join();
  std::printf("%zu rounds in each of 2 threads: every task ran once\n", n_rounds);
  return 0;
}
