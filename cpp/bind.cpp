// The compiled core as a module of Python.
#include "bind.h"
#include "evidence.h"
#include "moments.h"
#include "novelty.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of ferl.";
  // Constants that Python, ONNX and the page share with the core.
  m.attr("UNSEEN_GATE") = ferl::kUnseenGate;
  m.attr("MOST_FIRING") = ferl::kMostFiring;
  m.attr("LEAST_MASS") = ferl::kLeastMass;
  m.attr("MASS_SCALE") = ferl::kMassScale;
  m.attr("FAR_AWAY") = ferl::kFarAway;
  m.attr("EXEMPLAR_FIRING") = ferl::kExemplarFiring;
  m.attr("WEIGHT_SPAN") = ferl::kWeightSpan;
  ferl::python::bind_fit(m);
  ferl::python::bind_tree(m);
  ferl::python::bind_readers(m);
}
