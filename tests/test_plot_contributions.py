"""The waterfall of a row and the bars of importance: what is drawn is what the model says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier

pytest.importorskip("matplotlib", reason='plots need matplotlib: pip install "ferl[plot]"')

from matplotlib.figure import Figure

from ferl.plot import plot_contributions, plot_importance


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    return data.data, FERLClassifier(random_state=0).fit(data.data, data.target)


def axes():
    return Figure().subplots()


def bars(ax):
    return [bar for bar in ax.patches if str(bar.get_gid()).startswith("step-")]


def test_bars_lead_from_the_average_row_to_the_score_of_the_row(tumours):
    X, model = tumours
    for index in (0, 40, 73):
        ax = plot_contributions(model, X.iloc[index], max_features=8, ax=axes())
        drawn = bars(ax)
        assert len(drawn) == 8
        assert drawn[0].get_x() == pytest.approx(model.decision_function(X).mean())
        ends = [bar.get_x() + bar.get_width() for bar in drawn]
        np.testing.assert_allclose([bar.get_x() for bar in drawn[1:]], ends[:-1])
        assert ends[-1] == pytest.approx(model.decision_function(X.iloc[[index]])[0])
        assert ax.get_yticklabels()[-2].get_text().endswith(" other features")
        low, high = ax.get_xlim()
        assert low < min(ends)
        assert high > max(ends)


def test_several_classes_are_weighed_against_the_next_or_the_one_given():
    X, y = load_iris(return_X_y=True)
    model = FERLClassifier(random_state=0).fit(X, y)
    scores = model.decision_function(X[77:78])[0]
    best, following, last = np.argsort(-scores)
    for against, other in ((None, following), (int(last), last)):
        ax = plot_contributions(model, X[77], against=against, ax=axes())
        assert ax.get_xlabel() == f"log-odds of {best} against {other}"
        end = bars(ax)[-1]
        assert end.get_x() + end.get_width() == pytest.approx(scores[best] - scores[other])


def test_a_row_without_an_answer_is_called_so(tumours):
    X, model = tumours
    assert plot_contributions(model, 100 * X.iloc[0], ax=axes()).get_title(loc="left") == "no answer"


def test_what_cannot_be_drawn_is_refused(tumours):
    X, model = tumours
    with pytest.raises(ValueError, match=r"plot_contributions is for .* Use ferl.plot.plot_evidence"):
        plot_contributions(FERLTreeClassifier("deep", random_state=0).fit(X, X.iloc[:, 0] > 14), X.iloc[0], ax=axes())
    refused = pytest.raises(ValueError, match="max_features is 0; it must be at least 1")
    with refused:
        plot_contributions(model, X.iloc[0], max_features=0)
    with refused:
        plot_importance(model, max_features=0)


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_importance_has_a_bar_for_each_feature_that_matters(variant):
    X, y = load_breast_cancer(return_X_y=True)
    model = classifier(variant, random_state=0).fit(X, y)
    ax = plot_importance(model, max_features=5, ax=axes())
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, np.sort(model.feature_importances_)[::-1][:5])
    assert ax.get_yticklabels()[0].get_text() == f"x{model.feature_importances_.argmax()}"
    assert "that matter less" in ax.get_xlabel()
