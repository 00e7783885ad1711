"""The entry for TabArena: AutoGluon's checks of a model, a small table, and TabArena's registry."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ferl import FERLClassifier

FOLDER = Path(__file__).parent.parent / "integrations" / "tabarena"
INSTALL = "pip install autogluon.tabular tabarena"
pytestmark = pytest.mark.filterwarnings("default")  # what AutoGluon's dependencies announce
pytest.importorskip("autogluon.tabular", reason=INSTALL)


@pytest.fixture(scope="module")
def model_class() -> Any:
    """The class of model.py, which needs AutoGluon alone."""
    spec = importlib.util.spec_from_file_location("ferl_for_tabarena", FOLDER / "ferl" / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # models are pickled by name
    spec.loader.exec_module(module)
    return module.FERLModel


@pytest.fixture(scope="module")
def entry() -> Any:
    """The folder as TabArena sees it."""
    models = pytest.importorskip("tabarena.models", reason=INSTALL)
    models.__path__.append(str(FOLDER))
    yield importlib.import_module("tabarena.models.ferl")
    models.__path__.remove(str(FOLDER))


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(40, 10, n), "town": rng.choice(["Oslo", "Rome", "Lima"], n)})
    table["label"] = np.where((table["age"] > 42) | (table["town"] == "Rome"), "yes", "no")
    table.loc[::9, "age"] = np.nan
    return table


def test_autogluon_accepts_the_model(model_class: Any) -> None:
    fit_helper = importlib.import_module("autogluon.tabular.testing.fit_helper")
    fit_helper.FitHelper.verify_model(model_class, {"max_rules": 10})


def test_a_small_mixed_table_has_the_answers_of_the_classifier(model_class: Any, tmp_path: Path) -> None:
    from autogluon.tabular import TabularPredictor

    table = people()
    predictor = TabularPredictor("label", path=str(tmp_path / "models"), verbosity=0).fit(
        table[:200], hyperparameters={model_class: {"max_rules": 10}}, fit_weighted_ensemble=False
    )
    name = predictor.model_names()[0]
    assert predictor.evaluate(table[200:])["accuracy"] > 0.85
    fitted = predictor._trainer.load_model(name).model
    assert isinstance(fitted, FERLClassifier)
    assert fitted.n_rules_ <= 10
    assert [categories is not None for categories in fitted.categories_] == [False, True]


def test_the_search_space_has_parameters_of_the_classifier_and_its_defaults(entry: Any) -> None:
    space = importlib.import_module("tabarena.models.ferl.hpo").search_space
    parameters = FERLClassifier().get_params()
    assert set(space) <= set(parameters)
    defaults = {name: own.default for name, own in space.items()}
    assert defaults == {name: {"max_rules": 150}.get(name, parameters[name]) for name in space}  # None means 150
    configs = entry.gen_ferl.generate_all_configs_lst(num_random_configs=4)
    assert len(configs) == 5
    table = people(80)
    for config in configs:
        given = {name: value for name, value in config.items() if name in parameters}
        FERLClassifier(**given, random_state=0).fit(table[["age", "town"]], table["label"])


def test_the_registry_of_tabarena_has_the_entry(entry: Any) -> None:
    registry = importlib.import_module("tabarena.models._registry")
    registry._REGISTRY = None
    found = registry.discover_models()["FERL"]
    assert found is entry.ferl_info
    assert found.method_metadata.config_default.startswith(found.model_cls.ag_name)
    assert found.pip_extra == ("ferl>=0.1.0",)
