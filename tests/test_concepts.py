"""Concept bottlenecks: detector, calibration, cross-fitting, corrections and stories, without torch."""

import json
import pickle
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector, export_text, rules_frame
from ferl.concepts import (
    ConceptBottleneckFERL,
    ConceptCalibrator,
    ConceptDetector,
    intervene,
    load_digit_strokes,
    see_concepts,
)

NAMES = ["has white", "has black", "swims"]
TABLE = {"magpie": [1, 1, 0], "raven": [0, 1, 0], "swan": [1, 0, 1]}


def birds(n_rows=240, noise=0.5, seed=0):
    """Noisy measurements of three concepts, three birds."""
    rng = np.random.default_rng(seed)
    y = rng.choice(sorted(TABLE), n_rows)
    concepts = np.array([TABLE[bird] for bird in y], dtype=float)
    return concepts + rng.normal(0, noise, concepts.shape), y, concepts


def bottleneck(**parameters):
    return ConceptBottleneckFERL(class_concepts=TABLE, concept_names=NAMES, random_state=0, **parameters)


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = birds()
    return bottleneck().fit(X, y)


def test_class_tables_and_row_labels_that_say_the_same_give_the_same_model(fitted):
    X, y, concepts = birds()
    by_row = ConceptBottleneckFERL(random_state=0).fit(X, y, pd.DataFrame(concepts, columns=NAMES))
    in_order = ConceptBottleneckFERL(class_concepts=np.array([TABLE[bird] for bird in sorted(TABLE)]), random_state=0)
    assert by_row.concept_names_ == tuple(NAMES)
    np.testing.assert_array_equal(by_row.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(in_order.fit(X, y).predict_proba(X), fitted.predict_proba(X))


def test_a_frame_of_classes_is_read_by_its_index_whatever_the_order(fitted):
    X, y, _ = birds()
    frame = pd.DataFrame(TABLE, index=NAMES).T
    for table in (frame, frame.iloc[::-1]):
        model = ConceptBottleneckFERL(class_concepts=table, random_state=0).fit(X, y)
        assert model.concept_names_ == tuple(NAMES)
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="no row for the class 'swan'"):
        ConceptBottleneckFERL(class_concepts=frame.rename({"swan": "goose"})).fit(X, y)


@pytest.mark.parametrize(
    "detector",
    [
        MLPClassifier((8,), max_iter=60, learning_rate_init=0.05, early_stopping=True, random_state=0),
        RandomForestClassifier(10, random_state=0),
        DecisionTreeClassifier(max_depth=3),
    ],
)
def test_any_multi_output_classifier_is_a_detector(detector):
    X, y, _ = birds()
    assert bottleneck(detector=detector, cv=3).fit(X, y).score(*birds(seed=1)[:2]) > 0.6


def test_a_function_and_its_precomputed_answers_give_the_same_model():
    X, y, _ = birds()

    def see(rows):
        return 1 / (1 + np.exp(3 - 6 * np.asarray(rows)))

    by_function = bottleneck(detector=see).fit(X, y)
    given = bottleneck(detector="precomputed").fit(see(X), y)
    np.testing.assert_array_equal(by_function.predict_proba(X), given.predict_proba(see(X)))


def folds(n_folds):
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


def test_out_of_fold_concepts_come_from_detectors_that_had_not_seen_the_row():
    X, y, concepts = birds(n_rows=60)
    seen = see_concepts(ConceptDetector(DecisionTreeClassifier(random_state=0)), X, concepts, y, 5, 0)
    np.testing.assert_array_equal(seen.detector.predict_proba(X), concepts)  # a full tree knows its rows by heart
    for others, own in folds(5).split(X, y):
        alone = ConceptDetector(DecisionTreeClassifier(random_state=0)).fit(X[others], concepts[others])
        np.testing.assert_array_equal(seen.probability[own], alone.predict_proba(X[own]))
    assert (seen.probability != concepts).any()


def test_without_a_refit_the_detectors_of_the_folds_answer_together():
    X, y, concepts = birds(n_rows=60)
    new = birds(n_rows=20, seed=1)[0]
    tree = ConceptDetector(DecisionTreeClassifier(random_state=0))
    seen = see_concepts(tree, X, concepts, y, 3, 0, refit=False)
    alone = [clone(tree).fit(X[others], concepts[others]).predict_proba(new) for others, _ in folds(3).split(X, y)]
    np.testing.assert_allclose(seen.detector.predict_proba(new), np.mean(alone, axis=0))
    model = bottleneck(detector=tree.detector, cv=3, refit=False).fit(X, y)
    assert model.predict_concepts(new).shape == (20, 3)
    with pytest.raises(ValueError, match="cv=None has no folds"):
        bottleneck(cv=None, refit=False).fit(X, y)


def test_cross_fitting_keeps_a_head_from_trusting_a_detector_that_knows_its_rows_by_heart():
    X, y, _ = birds(n_rows=400, noise=0.8)
    X_new, y_new, _ = birds(n_rows=400, noise=0.8, seed=1)
    believed, scores = {}, {}
    for cv in (5, None):
        model = bottleneck(detector=DecisionTreeClassifier(random_state=0), cv=cv).fit(X, y)
        believed[cv] = model.predict_proba(X_new).max(axis=1).mean()
        scores[cv] = model.score(X_new, y_new)
    assert believed[None] - scores[None] > 0.1 > abs(believed[5] - scores[5])  # sure, and wrong


def test_calibrated_concepts_are_as_frequent_as_they_are_probable():
    X, _, concepts = birds(n_rows=4000, seed=2)
    probability = bottleneck().fit(*birds(n_rows=2000)[:2]).predict_concepts(X)
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        inside = (probability >= low) & (probability < high)
        assert abs(probability[inside].mean() - concepts[inside].mean()) < 0.06


def test_a_calibrator_keeps_the_order_and_the_gaps():
    rng = np.random.default_rng(0)
    probability = rng.random((200, 2))
    truth = (rng.random((200, 2)) < probability**2).astype(float)
    truth[:50, 0] = np.nan
    rows = np.column_stack([np.linspace(0, 1, 50), np.full(50, np.nan)])
    calibrated = ConceptCalibrator().fit(probability, truth).transform(rows)
    assert (np.diff(calibrated[:, 0]) >= 0).all()
    assert np.isnan(calibrated[:, 1]).all()


def test_without_calibration_the_head_sees_the_detector_itself():
    X, y, _ = birds()
    model = bottleneck(calibration=None).fit(X, y)
    assert model.calibrator_ is None
    np.testing.assert_array_equal(model.predict_concepts(X), model.detector_.predict_proba(X))


def test_a_corrected_concept_is_what_the_rules_see_and_changes_the_answer(fitted):
    swan = [[1.0, 0.0, 1.0]]
    assert fitted.predict(swan) == ["swan"]
    assert fitted.predict(swan, known={"has black": 1, "swims": 0}) == ["magpie"]
    corrected = fitted.predict_concepts(swan, known={"has black": 1})
    assert corrected[0, 1] == 1
    assert corrected[0, 0] == fitted.predict_concepts(swan)[0, 0]


def test_true_concepts_repair_most_answers(fitted):
    X, y, concepts = birds(noise=1.0, seed=3)
    known = dict(zip(NAMES, concepts.T, strict=True))
    assert (fitted.predict(X, known=known) == y).mean() > 0.95 > (fitted.predict(X) == y).mean() + 0.1


def test_a_concept_that_cannot_be_seen_is_a_missing_value_and_leaves_doubt(fitted):
    swan = [[1.0, 0.0, 1.0]]
    hidden = dict.fromkeys(NAMES, np.nan)
    assert np.isnan(fitted.predict_concepts(swan, known=hidden)).all()
    # The classes come close. How many rows are behind the answer is another question: those of all kinds are now.
    assert fitted.predict_proba(swan, hidden).max() < fitted.predict_proba(swan).max() - 0.1
    assert fitted.predict_set(swan, hidden).sum() > fitted.predict_set(swan).sum() == 1
    assert fitted.predict_set(swan, level=1.0).all()
    assert fitted.predict_set(swan, hidden).sum() >= fitted.predict_set(swan).sum()


def test_a_correction_for_some_rows_leaves_the_others_alone(fitted):
    X = birds(n_rows=3)[0]
    before = fitted.predict_proba(X)
    after = fitted.predict_proba(X, known={"has black": [None, 1, None], "swims": None})
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"has blck": 1}, "There is no concept 'has blck'. Did you mean 'has black'"),
        ({"colour": 1}, "The concepts are .'has white', 'has black', 'swims'"),
        ({"swims": 2}, "is 2; use 1 for present and 0 for absent"),
        ({"swims": [1, 0]}, r"has the shape \(2,\) for 1 rows"),
        ({"swims": "yes"}, "holds 'yes'; use 1, 0"),
    ],
)
def test_a_wrong_correction_is_refused_with_a_remedy(known, message):
    with pytest.raises(ValueError, match=message):
        intervene(np.zeros((1, 3)), NAMES, known)


def test_a_story_names_the_correction_that_changes_most(fitted):
    row = birds(n_rows=1, seed=5)[0]
    story = fitted.explain(row)
    before = fitted.predict_proba(row)[0]
    changes = {}
    for name in NAMES:
        for value in (0, 1):
            after = fitted.predict_proba(row, known={name: value})[0]
            changes[name, value] = np.abs(after - before).sum() / 2
    best = story.corrections[0]
    assert (best.concept, best.to) == max(changes, key=changes.get)
    assert best.change == pytest.approx(max(changes.values()))
    assert fitted.predict(row, known={best.concept: best.to}) == [best.label]
    assert best.concept in story.summary


def test_corrections_of_rows_are_those_of_trying_every_concept(fitted):
    X = birds(n_rows=6, seed=5)[0]
    before = fitted.predict_proba(X)
    found = fitted.corrections(X, n=len(NAMES))
    asked = {NAMES[feature] for feature in fitted.head_.tree_.feature[1:]}
    for row, own in enumerate(found):
        assert {one.concept for one in own} == asked
        assert [one.change for one in own] == sorted((one.change for one in own), reverse=True)
        for one in own:
            x = X[row : row + 1]
            after = [fitted.predict_proba(x, known={one.concept: value})[0] for value in (0, 1)]
            changes = np.abs(np.array(after) - before[row]).sum(axis=1) / 2
            assert one.change == pytest.approx(changes.max())
            assert changes[one.to] == pytest.approx(changes.max())
            assert one.probability == pytest.approx(after[one.to].max())
            assert fitted.predict(x, known={one.concept: one.to}) == [one.label]
    assert [own[:1] for own in found] == fitted.corrections(X, n=1)
    assert found[2] == fitted.explain(X[2:3]).corrections


def test_what_somebody_has_corrected_is_not_to_be_corrected_again(fitted):
    X = birds(n_rows=2, seed=5)[0]
    first, second = fitted.corrections(X, known={"has white": [None, 1]})
    assert "has white" in {one.concept for one in first}
    assert "has white" not in {one.concept for one in second}
    assert fitted.corrections(X[:1], known=dict.fromkeys(NAMES, 1)) == [()]
    assert not fitted.explain(X[:1], known=dict.fromkeys(NAMES, 1)).corrections
    with pytest.raises(ValueError, match="n is 0; it must be at least 1"):
        fitted.corrections(X, n=0)


def test_the_default_head_has_at_most_one_rule_for_each_concept_and_asks_whether_it_is_present(fitted):
    assert isinstance(fitted.head_, FERLClassifier)
    conditions = rules_frame(fitted.head_)["conditions"].tolist()
    assert len(conditions) == len(set(conditions)) >= 2
    assert set(conditions) <= {f"{name} is present" for name in NAMES}


def test_with_the_default_head_corrections_of_different_concepts_add_up(fitted):
    row = birds(n_rows=1, seed=5)[0]

    def scores(known):
        return fitted.head_.decision_function(fitted._rows(row, known))[0]

    alone = [scores({name: 1}) - scores({}) for name in NAMES]
    np.testing.assert_allclose(scores(dict.fromkeys(NAMES, 1)) - scores({}), np.sum(alone, axis=0), atol=1e-12)


def test_reason_codes_name_the_concepts_that_cost_a_row_a_class(fitted):
    swan = [[1.0, 0.0, 1.0]]
    (reasons,) = fitted.reason_codes(swan, positive="raven")
    # A swan is no raven since it is white and swims, or is not black, which among these birds is the same.
    named = {str(one).partition(":")[0] for one in reasons}
    assert "has white is 1" in named
    assert named & {"swims is 1", "has black is 0"}
    assert all(one.lost > 0 for one in reasons)
    assert len(fitted.reason_codes(swan, n=1, positive="raven")[0]) == 1
    (corrected,) = fitted.reason_codes(swan, {"has black": 1, "has white": 0, "swims": 0}, positive="raven")
    assert sum(one.lost for one in corrected) < sum(one.lost for one in reasons)
    with pytest.raises(ValueError, match="name the class that rows should have had"):
        fitted.reason_codes(swan)


def test_a_tree_over_concepts_has_no_reason_codes_and_says_so():
    X, y, _ = birds(n_rows=60)
    with pytest.raises(ValueError, match="reason_codes is for rules, and this is a FERLTreeClassifier"):
        bottleneck(head=FERLTreeClassifier("deep")).fit(X, y).reason_codes(X, positive="swan")


def test_a_story_names_the_anomalous_concept():
    rng = np.random.default_rng(0)
    y = np.repeat(["magpie", "swan"], 100)
    X = np.clip(
        np.array([[1, 1, 0] if bird == "magpie" else [1, 0, 1] for bird in y]) + rng.normal(0, 0.02, (200, 3)), 0, 1
    )
    model = ConceptBottleneckFERL(
        "precomputed",
        FERLTreeClassifier("deep", max_rules=2),
        calibration=None,
        concept_names=NAMES,
        class_concepts=TABLE,
    ).fit(X, y)
    story = model.explain([[0.0, 1.0, 0.0]])  # a magpie without white
    assert [one.concept for one in story.anomalies] == ["has white"]
    assert story.anomalies[0].usual[0] > 0.9
    assert "Most anomalous: has white is 0.00" in story.summary
    parts = model.novelty_attribution([[0.0, 1.0, 0.0]])
    assert parts[0].argmax() == 0
    assert parts.sum() == pytest.approx(model.novelty([[0.0, 1.0, 0.0]])[0])


def test_a_story_reads_in_text_html_and_json(fitted):
    story = fitted.explain([[1.0, 0.0, 1.0]], known={"has black": 1, "swims": np.nan})
    text = story.to_text()
    assert "Corrected by hand" in text
    assert "has black: present" in text
    assert "swims: cannot be seen" in text
    form = json.loads(json.dumps(story.to_dict(), allow_nan=False))
    assert form["concepts"]["swims"] is None
    assert form["known"] == ["has black", "swims"]
    assert form["label"] == fitted.predict([[1.0, 0.0, 1.0]], known={"has black": 1, "swims": np.nan})[0]
    assert "Corrected by hand" in story.to_html()


def test_rules_speak_in_concepts(fitted):
    assert any(name in export_text(fitted.head_) for name in NAMES)


def test_a_novelty_detector_is_fitted_on_the_concepts_of_training(fitted):
    _, y, _ = birds()
    detector = NoveltyDetector(alpha=0.1, random_state=0).fit(fitted.training_concepts_, y)
    assert (detector.predict(fitted.predict_concepts(birds(seed=9)[0])) == -1).mean() < 0.3


def test_the_estimator_keeps_the_conventions_of_scikit_learn(fitted):
    X, y, _ = birds()
    detector, head = DecisionTreeClassifier(max_depth=3), FERLTreeClassifier("medium")
    model = bottleneck(detector=detector, head=head, cv=3)
    assert model.detector is detector
    assert clone(model).get_params()["head__variant"] == "medium"
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7
    assert not hasattr(detector, "tree_")
    assert head.random_state is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_one_concept_and_concepts_that_all_rows_share_are_no_obstacle():
    X, y, concepts = birds()
    shared = np.column_stack([concepts[:, :1], np.ones(len(y)), np.zeros(len(y))])
    model = ConceptBottleneckFERL(random_state=0).fit(X, y, shared)
    np.testing.assert_array_equal(model.predict_concepts(X)[:, 1:], shared[:, 1:])
    one = ConceptBottleneckFERL(RandomForestClassifier(5), random_state=0).fit(X, y, concepts[:, :1])
    assert one.head_.n_rules_ == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"concepts": None}, "No concept labels"),
        ({"concepts": np.zeros((3, 2))}, "concepts has 3 rows and y 60 labels"),
        ({"concepts": np.full((60, 3), 0.5)}, "row 0, concept 0 is 0.5; use 1, 0, or NaN"),
        ({"concepts": np.full((60, 3), np.nan)}, "Concept 0 has no label at all"),
        ({"concepts": np.zeros(60)}, "one column for each concept"),
        ({"class_concepts": {"magpie": [1]}}, "no row for the class 'raven'"),
        ({"class_concepts": [[1], [0]]}, "has 2 rows, but y holds 3 classes"),
        ({"class_concepts": TABLE, "concept_names": ["a"]}, "1 names for 3 concepts"),
        ({"class_concepts": TABLE, "concept_names": ["a", "a", "b"]}, "'a' is there more than once"),
        ({"class_concepts": TABLE, "detector": lambda rows: rows}, "which is no probability"),
        ({"class_concepts": TABLE, "detector": lambda rows: rows[:, :2]}, "for 3 concepts"),
        ({"class_concepts": TABLE, "cv": 50}, "no class has more than"),
        ({"class_concepts": TABLE, "calibration": "platt"}, "calibration"),
        ({"class_concepts": TABLE, "detector": "network"}, "detector"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_a_remedy(change, message):
    X, y, _ = birds(n_rows=60)
    change = dict(change)
    concepts = change.pop("concepts", None)
    with pytest.raises(ValueError, match=message):
        ConceptBottleneckFERL(**change).fit(X, y, concepts)


def test_unknown_labels_need_a_detector_that_can_do_without():
    X, y, concepts = birds(n_rows=60)
    concepts[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"1 concept labels are NaN.*Drop these rows, or use a detector"):
        ConceptBottleneckFERL().fit(X, y, concepts)


def test_a_story_of_several_rows_is_refused(fitted):
    with pytest.raises(ValueError, match=r"x has 2. Pass X\[i : i \+ 1\]"):
        fitted.explain(birds(n_rows=2)[0])


def test_no_two_digits_have_the_same_strokes():
    digits = load_digit_strokes()
    assert len(digits.concept_names) == 12
    assert len({tuple(strokes) for strokes in digits.class_concepts.values()}) == 10
    assert all(any(digits.class_concepts[digit][place] for digit in range(10)) for place in range(12))


def test_the_example_of_the_digits_reads_them_by_their_strokes(capsys):
    names = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "digits_concepts.py"))
    out = capsys.readouterr().out
    model, is_novel = names["model"], names["is_novel"]
    assert model.score(names["X_test"][~is_novel], names["y_test"][~is_novel]) > 0.9
    assert model.head_.n_rules_ <= 15
    assert "crossing strokes is absent and loop at the bottom is absent\n     then +" in out
    assert names["alarms"][is_novel].mean() > 2 * names["alarms"][~is_novel].mean()
    assert names["n_repaired"] > 0
    assert 8 not in model.classes_
