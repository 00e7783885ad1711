// How well places near some rows predict the classes of these rows, which the distance between cases is learned from.
#pragma once

#include <cstddef>

namespace ferl {

// Rows and the places near them, other than their own. A pair is a row and a place; the pairs of a row stand together.
struct Vicinity {
  std::size_t n_rows, n_near, n_columns;
  const double* away;        // [column][pair]: what the column adds to the distance while its factor is 1
  const double* log_weight;  // [pair]: of the cases at the place; minus infinity: the place of the row itself
  const double* share;       // [pair]: of the row's class in that weight
  const double* frequency;   // [row]: of its class
  const double* weight;      // [row]: as a share
};

// The log-loss of the rows. A place at distance d counts its weight times exp(-s d), and `n_behind` rows of these shares
// stand beside one row of the class frequencies. at: logarithms of s and of the factor of each column; slope: by these.
double neighbour_loss(const Vicinity& vicinity, const double* at, double n_behind, double* slope);

}  // namespace ferl
