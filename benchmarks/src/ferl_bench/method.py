"""What a method of the benchmark is, and the list of those there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench import methods as methods_package
from ferl_bench.data import DataSet, as_tables, encode


@dataclass(frozen=True)
class Method:
    """A classifier in the benchmark.

    Attributes
    ----------
    name : str
        As printed in the tables.
    fit : callable
        ``fit(X, y, seed)`` returns a fitted object with ``predict``, ``predict_proba`` and ``classes_``. Rivals that
        are not dependencies of the library are imported inside it, so that a missing one fails alone.
    size : callable, optional
        ``size(fitted)`` returns the number of rules or leaves; None for a method that has neither.
    prediction_set : callable, optional
        ``prediction_set(fitted, X)`` returns a boolean array of shape (n_rows, n_classes), the columns those of
        ``fitted.classes_``.
    calibrate : callable, optional
        ``calibrate(fitted, X, y)`` sees the calibration part; what it returns takes the place of ``fitted`` in
        `prediction_set`. Answers remain those of ``fitted``.
    parameters : mapping
        What distinguishes this configuration; part of the identity of cached results.
    packages : tuple of str
        Distributions whose version decides the result, besides ferl itself.
    code : tuple of str
        Files that decide the result of a rival that is implemented here, each beginning with its package:
        ``ferl_bench/methods/c45.py``.
    is_ours : bool
        True when the result depends on this library's own code: cached results then expire with every edit of it.
    paper : mapping
        The paper's figures in the units of the tables, by measure.
    judged_on : {"test", "calibration"}
        Part of a fold the measures are taken on. Defaults are chosen on the calibration part, which belongs to the
        training rows; test rows are for the tables alone.
    measures : callable, optional
        ``measures(fitted)`` returns further measures by name, of the fitted object itself and not of its answers.
    readings : callable, optional
        ``readings(fitted, X)`` returns further measures by name, of its answers to the rows it is judged on.
    is_interpretable : bool
        Whether people can follow how it answers; the paper ranks such methods among themselves.
    reads_categories : bool
        Whether it is given categories as they are, in a data frame; other methods get a column of 0 and 1 for each.
    budget_minutes : float, optional
        What all folds of a slow method may take together: it is run on as many data sets as fit, the smallest first,
        and its row says on how many.
    """

    name: str
    fit: Callable[[NDArray[np.float64], NDArray[np.int64], int], Any]
    size: Callable[[Any], int] | None = None
    prediction_set: Callable[[Any, NDArray[np.float64]], NDArray[np.bool_]] | None = None
    calibrate: Callable[[Any, NDArray[np.float64], NDArray[np.int64]], Any] | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    packages: tuple[str, ...] = ("numpy", "scikit-learn")
    code: tuple[str, ...] = ()
    is_ours: bool = False
    paper: Mapping[str, float] = field(default_factory=dict)
    judged_on: str = "test"
    measures: Callable[[Any], Mapping[str, float]] | None = None
    readings: Callable[[Any, NDArray[np.float64]], Mapping[str, float]] | None = None
    is_interpretable: bool = True
    reads_categories: bool = False
    budget_minutes: float | None = None


def encode_for(
    method: Method, data: DataSet, fitting_rows: NDArray[np.intp], *parts: NDArray[np.intp]
) -> tuple[Any, ...]:
    """Return the fitting rows, then each of `parts`, in the form that the method takes."""
    return (as_tables if method.reads_categories else encode)(data, fitting_rows, *parts)


def all_methods() -> list[Method]:
    """Collect ``METHODS`` of every file in ``methods/``: files in alphabetical order, methods in the file's order."""
    result: list[Method] = []
    for module in sorted(pkgutil.iter_modules(methods_package.__path__), key=lambda info: info.name):
        result.extend(importlib.import_module(f"{methods_package.__name__}.{module.name}").METHODS)
    return result


def get_method(name: str) -> Method:
    """Return the method of that name."""
    return next(method for method in all_methods() if method.name == name)


def packages_of(methods: Iterable[Method]) -> tuple[str, ...]:
    """Return the distributions whose versions decide the results of the methods."""
    return tuple(dict.fromkeys(package for method in methods for package in method.packages))


def known_methods(names: Sequence[str]) -> list[Method]:
    """Return those of the methods that there are, in the order of the names."""
    known = {method.name: method for method in all_methods()}
    return [known[name] for name in names if name in known]
