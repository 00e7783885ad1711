// The compiled core as a module of Python.
#include "bind/array.h"
#include "core/exponential.h"
#include "core/kernels.h"
#include "novelty/novelty.h"
#include "rows/moments.h"
#include "trees/evidence.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of ferl.";
  // Models keep compiled objects. Objects that a program still holds when Python ends are not leaks.
  nanobind::set_leak_warnings(false);
  // Constants that Python, ONNX and the page share with the core.
  m.attr("UNSEEN_GATE") = ferl::kUnseenGate;
  m.attr("MOST_FIRING") = ferl::kMostFiring;
  m.attr("TIE") = ferl::kTie;
  m.attr("LEAST_MASS") = ferl::kLeastMass;
  m.attr("MASS_SCALE") = ferl::kMassScale;
  m.attr("FAR_AWAY") = ferl::kFarAway;
  m.attr("LARGEST_EXPONENT") = ferl::kLargestExponent;
  m.attr("EXEMPLAR_FIRING") = ferl::kExemplarFiring;
  m.attr("NEGLIGIBLE_FIRING") = ferl::kNegligibleFiring;
  m.attr("LEAST_PROBABILITY") = ferl::kLeastProbability;
  m.attr("WEIGHT_SPAN") = ferl::kWeightSpan;
  m.def("instruction_set", &ferl::instruction_set, "0: the baseline; 3 or 4: x86-64-v3 or v4.");
  ferl::python::bind_sampler(m);
  ferl::python::bind_trees(m);
  ferl::python::bind_rules(m);  // after the sampler, whose class it uses
  ferl::python::bind_moments(m);
  ferl::python::bind_tree(m);
  ferl::python::bind_sources(m);
  ferl::python::bind_cases(m);
  ferl::python::bind_scores(m);
  ferl::python::bind_exemplars(m);
  ferl::python::bind_json(m);
}
