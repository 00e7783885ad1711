// Whether a sum of small tables is above a bound everywhere: each table depends on few variables, each variable has few
// values.
//
// The proof is by moving parts of the tables between them until the sum of their least values, a lower bound of the
// least sum, is large enough (message passing on the dual of a linear program; Globerson and Jaakkola, 2007). If that
// does not suffice, the values of a variable are divided into two halves with separate proofs.
#pragma once

#include <cstddef>
#include <vector>

namespace ferl {

class CornerGrid {
 public:
  // n_values: of each variable.
  CornerGrid(const std::vector<std::size_t>& n_values, double base);

  // Adds weight times a product of one factor for each variable, in ascending order; factor[i] has the values of
  // variable[i]. If the table would be too large, adds its least value.
  void add(double weight, const std::vector<std::size_t>& variable, const std::vector<const double*>& factor);
  // Adds the least value of such a product; variables may repeat.
  void add_least(double weight, const std::vector<std::size_t>& variable, const std::vector<const double*>& factor);

  // Adds a table of one variable or two, in ascending order; the last one runs fastest.
  void add_table(const std::vector<std::size_t>& variable, const std::vector<double>& value);

  // Whether the sum is proven to be larger than the bound for all values, rounding included.
  bool exceeds(double bound) const;

 private:
  struct Term {
    std::vector<std::size_t> variable;
    std::vector<double> value;  // the last variable runs fastest
    double least = 0;
  };
  using Choice = std::vector<std::size_t>;  // a value of each variable

  Term& term_of(const std::vector<std::size_t>& variable);
  bool proves(double bound, std::size_t& work);
  void pass(Term& term);
  const std::vector<double>& said_of_runs(const Term& term);
  double lower_bound() const;
  Choice best_of_each() const;
  double value_at(const Term& term, const Choice& chosen) const;
  double value_at(const Choice& chosen) const;
  std::size_t most_disputed(const Choice& chosen) const;
  CornerGrid half(std::size_t variable, std::size_t from, std::size_t to) const;
  std::size_t n_entries() const;
  // Calls visit(offset, prefix) for each run of the last variable; prefix: the values of the others.
  template <class Visit>
  void over_runs(const Term& term, Visit&& visit) const;

  double base_, rounding_ = 0;
  std::vector<std::vector<double>> own_;  // [variable][value]: what depends on one variable alone
  std::vector<Term> terms_;
  std::vector<double> said_, longer_, least_of_run_;  // of a pass
};

}  // namespace ferl
