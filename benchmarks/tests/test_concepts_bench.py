"""The cbm tables, on a miniature of the stored features."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ferl.concepts import ConceptDetector, see_concepts
from ferl_bench.command import app
from ferl_bench.concepts import seeing
from ferl_bench.concepts.data import load_concept_set
from ferl_bench.concepts.heads import (
    FERL,
    LR,
    LR_SAME,
    LR_TREE,
    LR_WIDE,
    WIDE,
    Budget,
    concepts_of_decision,
    judge_few,
    judge_heads,
)
from ferl_bench.concepts.novelty import name_anomalies, novelty_scores
from ferl_bench.concepts.seeing import see
from ferl_bench.concepts.torch_detector import TorchDetector
from ferl_bench.errors import BenchError
from ferl_bench.tables import cbm_accuracy, cbm_ood
from ferl_bench.tables.cbm_ood import class_folds

TORCH = "torch is not installed (pip install './benchmarks[torch]')"


def features(concepts, rng):
    mixing = np.random.default_rng(7).normal(size=(concepts.shape[1], 12))
    return (concepts @ mixing + rng.normal(0, 0.4, (len(concepts), 12))).astype(np.float16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The three files, with 25 birds, five cells, two unknown cells and six animals."""
    path = tmp_path_factory.mktemp("concepts")
    rng = np.random.default_rng(0)
    table = (rng.random((25, 8)) < 0.5).astype(np.uint8)
    table[:, 0], table[0, 0] = np.arange(25) % 2, 1
    y = np.repeat(np.arange(25), 12)
    split = np.tile(["train"] * 6 + ["val"] * 2 + ["test"] * 4, 25)
    names = np.array([f"has_part_{number}::red" for number in range(8)])
    np.savez(
        path / "cub.npz", feat=features(table[y], rng), y=y, split=split, class_concepts=table, concept_names=names
    )
    y = np.concatenate([np.repeat(np.arange(5), 24), np.full(20, -1)])
    split = np.concatenate([np.tile(["train"] * 12 + ["val"] * 4 + ["test"] * 8, 5), ["ood_ig"] * 20])
    shown = np.where(y[:, None] >= 0, table[y], 1 - table[:1])
    np.savez(
        path / "wbc.npz",
        feat=features(shown, rng),
        y=y,
        split=split,
        concepts=shown,
        concept_names=np.array(list("abcdefgh")),
    )
    y = np.repeat(np.arange(6), 20)
    np.savez(
        path / "animals38.npz",
        feat=features(table[y], rng),
        y=y,
        predicate_matrix=table,
        predicates=np.array(list("stuvwxyz")),
    )
    return path


def test_sets_are_read_with_their_parts(folder):
    birds, cells = load_concept_set(folder, "CUB-20"), load_concept_set(folder, "WBCAtt")
    assert birds.y.max() == 19
    assert birds.concept_names[0] == "has part 0: red"
    assert (len(birds.train), len(birds.test)) == (160, 80)
    assert cells.unknown_kinds == ["ig"]
    assert load_concept_set(folder, "CUB-200").digest != birds.digest
    animals = load_concept_set(folder, "Animals-38")
    assert (np.bincount(animals.y[animals.test]) == 4).all()


def test_a_folder_without_the_file_is_refused(tmp_path):
    with pytest.raises(BenchError, match=r"CUB-20 needs cub\.npz"):
        load_concept_set(tmp_path, "CUB-20")
    np.savez(tmp_path / "cub.npz", y=np.zeros(2))
    with pytest.raises(BenchError, match="is not the file that CUB-20 is read from"):
        load_concept_set(tmp_path, "CUB-20")


def test_class_folds_hold_every_class_once(folder):
    data = load_concept_set(folder, "CUB-200")
    folds = class_folds(data)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(25))


def test_no_detector_sees_a_class_that_was_left_out_and_views_are_kept(folder, tmp_path):
    pytest.importorskip("torch", reason=TORCH)
    data = load_concept_set(folder, "Animals-38")
    left_out = np.array([2, 4])
    view = see(data, 0, tmp_path, left_out=left_out)
    assert not np.isin(data.y[view.rows], left_out).any()
    assert np.isin(left_out, data.y[view.new_rows]).all()
    rows = data.train[~np.isin(data.y[data.train], left_out)]
    detector = ConceptDetector(TorchDetector(random_state=0, device="cpu"))
    seen = see_concepts(detector, data.features[rows], data.concepts[rows], data.y[rows], 5, 0)
    np.testing.assert_allclose(view.cross_fitted, seen.probability, atol=1e-6)
    (kept,) = (tmp_path / "concepts").iterdir()
    written = kept.stat().st_mtime_ns
    see(data, 0, tmp_path, left_out=left_out)
    assert kept.stat().st_mtime_ns == written
    see(data, 1, tmp_path, left_out=left_out)
    assert len(list((tmp_path / "concepts").iterdir())) == 2


def test_calibrated_views_learn_from_training_rows_alone(folder, tmp_path):
    pytest.importorskip("torch", reason=TORCH)
    data = load_concept_set(folder, "CUB-20")
    view = see(data, 0, tmp_path)
    training, new = view.concepts(data, crossfit=True, calibrated=True)
    assert training.shape == view.cross_fitted.shape
    data.concepts[data.test] = 0.0  # labels of test rows must not matter
    np.testing.assert_array_equal(view.concepts(data, crossfit=True, calibrated=True)[1], new)
    assert view.concepts(data, crossfit=False, calibrated=False)[0] is view.in_sample


def concepts_of_rows(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 200)
    return np.clip(np.eye(4)[y] + rng.normal(0, 0.2, (200, 4)), 0, 1), y


def test_heads_are_judged_on_the_same_concepts_and_ferl_has_no_more_leaves_than_cart():
    figures = judge_heads(*concepts_of_rows(), *concepts_of_rows(1), 0, Budget(tree=150, wide=3))
    assert figures[WIDE]["leaves"] == figures[LR_WIDE]["concepts"] == 3
    assert figures[FERL]["leaves"] <= figures["CART"]["leaves"]
    assert figures["CART, as many leaves"]["leaves"] <= figures[FERL]["leaves"]
    assert all(figures[head]["accuracy"] > 60 for head in (WIDE, FERL, LR, LR_TREE))
    assert figures[LR_SAME]["concepts"] <= figures[LR_TREE]["concepts"] <= figures[LR]["concepts"]


def test_few_concepts_are_the_best_ones_of_each_head():
    noise = np.random.default_rng(2).random((200, 3))
    (X, y), (X_test, y_test) = concepts_of_rows(), concepts_of_rows(1)
    result = judge_few(np.hstack([noise, X]), y, np.hstack([noise, X_test]), y_test, 0, Budget(tree=150, wide=60))
    assert list(result) == [4, 6]
    assert min(accuracy for heads in result.values() for accuracy in heads.values()) > 80


def test_a_decision_asks_about_the_concepts_of_all_rules_that_fire():
    from ferl import FERLTreeClassifier

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    model = FERLTreeClassifier("deep", max_rules=4, random_state=0).fit(X, X @ [1, 2])
    assert concepts_of_decision(model, X) == 2


def test_novelty_of_concepts_finds_rows_that_have_all_of_them():
    X, y = concepts_of_rows()
    rows = np.vstack([concepts_of_rows(1)[0][:20], np.ones((5, 4))])
    for name, score in novelty_scores(X, y, rows, 0, Budget(tree=20, wide=20)).items():
        assert score[20:].min() > np.median(score[:20]), name
    named = name_anomalies("all at once", X, y, np.array([[1.0, 0.0, 0.0, 1.0]]), list("abcd"), Budget(20, 20))
    assert named.concepts[0] in ("a (100%)", "d (100%)")


def test_both_tables_are_written_and_say_what_they_need(folder, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason=TORCH)
    for module in (cbm_accuracy, cbm_ood):
        monkeypatch.setattr(module, "SEEDS", (0,))
    for module in (cbm_ood, seeing):
        monkeypatch.setattr(module, "N_FOLDS", 2)
    runner = CliRunner()
    assert "--concepts DIR; none was given" in runner.invoke(app, ["cbm-ood", "--out", str(tmp_path)]).output
    for table in ("cbm-accuracy", "cbm-ood"):
        result = runner.invoke(app, [table, "--concepts", str(folder), "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
    accuracy = json.loads((tmp_path / "cbm_accuracy.json").read_text())
    assert set(accuracy["sets"]) == {"CUB-20", "CUB-200", "WBCAtt", "Animals-38"}
    assert "[86.28]" in (tmp_path / "cbm_accuracy.md").read_text()
    ood = json.loads((tmp_path / "cbm_ood.json").read_text())
    assert {"WBCAtt: ig, never annotated", "WBCAtt: 1 kinds, never annotated"} <= set(ood["sets"])
    assert "68.2" in (tmp_path / "cbm_ood.md").read_text()


def test_the_folder_of_concepts_is_refused_where_it_would_change_nothing(folder):
    result = CliRunner().invoke(app, ["cuts", "--concepts", str(folder)])
    assert result.exit_code == 2
    assert "--concepts do not apply to cuts" in result.output
