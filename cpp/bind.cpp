// The compiled core as a module of Python.
#include "bind.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of ferl.";
  ferl::python::bind_fit(m);
  ferl::python::bind_tree(m);
}
