"""The pictures of docs/guide/plots.md.

Run it with ``python examples/gallery.py``; it needs ``pip install "ferl[plot]"`` and takes a few seconds. Another
folder than docs/plots can be given. The picture that Graphviz draws is left out where ``dot`` is not installed.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLClassifier, FERLTreeClassifier, export_graphviz, plot_tree
from ferl.plot import (
    plot_contributions,
    plot_decision_regions,
    plot_evidence,
    plot_importance,
    plot_memberships,
    plot_novelty,
    plot_novelty_of_rows,
    plot_reliability,
    plot_risk_coverage,
    plot_shapes,
    plot_similar,
)

matplotlib.use("Agg")  # pictures go to files
DOCS = Path(__file__).parent.parent / "docs"
FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "plots"
IRIS = load_iris()
FLOWERS, KINDS = IRIS.data, IRIS.target_names[IRIS.target]
PARTS = ["sepal length", "sepal width", "petal length", "petal width"]


def save(figure, name, dpi=110):
    """Write a picture in the quality of a printed page."""
    figure.savefig(FOLDER / f"{name}.png", dpi=dpi)
    print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB")


def sheet(width, height, n_columns=1):
    """A figure with its Axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, n_columns)


def patients(n=600, seed=0):
    """A table with categories and gaps, and who fell ill."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    region = rng.choice(["coast", "hills", "north", "plain", "south"], n)
    smoker = rng.choice(["never", "formerly", "yes"], n, p=[0.5, 0.2, 0.3])
    risk = 0.07 * (age - 50) + 1.6 * (smoker == "yes") + 1.2 * np.isin(region, ["coast", "south"])
    ill = np.where(rng.logistic(size=n) < risk - 1, "ill", "well")
    table = np.column_stack([age.round(1).astype(object), region, smoker]).astype(object)
    table[rng.random(table.shape) < 0.1] = None
    return table, ill, ["age", "region", "smoker"]


def trees():
    """A tree of splits, one of words, one with categories."""
    wine = load_wine()
    names = [name.replace("_", " ").replace("/", " / ") for name in wine.feature_names]
    labels = np.array(["cultivar 1", "cultivar 2", "cultivar 3"])[wine.target]
    learned = FERLTreeClassifier("medium", random_state=0).fit(wine.data, labels)
    save(plot_tree(learned, feature_names=names).figure, "tree")
    digits = load_digits()
    pixels = [f"row {pixel // 8} column {pixel % 8}" for pixel in range(64)]
    fifty = FERLTreeClassifier("medium", max_rules=50, random_state=0).fit(digits.data, digits.target)
    save(plot_tree(fifty, feature_names=pixels, min_weight=0.06).figure, "tree_folded", dpi=60)
    words = FERLTreeClassifier("compact", random_state=0).fit(FLOWERS, KINDS)
    save(plot_tree(words, feature_names=PARTS).figure, "tree_words")
    table, ill, columns = patients()
    mixed = FERLTreeClassifier("medium", max_rules=9, random_state=0).fit(table, ill)
    save(plot_tree(mixed, feature_names=columns).figure, "tree_categories")
    if shutil.which("dot"):
        dot = export_graphviz(
            FERLTreeClassifier("medium", max_rules=4, random_state=0).fit(FLOWERS, KINDS), feature_names=PARTS
        )
        subprocess.run(["dot", "-Tpng", "-Gdpi=70", "-o", FOLDER / "graphviz.png"], input=dot, text=True, check=True)


def shapes():
    """Curves and maps of rules: two classes with categories and gaps, three kinds of flowers."""
    table, ill, columns = patients()
    clf = FERLClassifier(random_state=0).fit(table, ill)
    save(plot_shapes(clf, feature_names=columns, max_features=4), "shapes")
    data = load_breast_cancer()
    tumours = FERLClassifier(random_state=0).fit(data.data, data.target_names[data.target])
    save(plot_shapes(tumours, feature_names=data.feature_names, max_features=4), "shapes_tumours")
    flowers = FERLClassifier(max_rules=6, random_state=0).fit(FLOWERS, KINDS)
    save(plot_shapes(flowers, feature_names=PARTS), "shapes_classes")


def contributions():
    """What leads to the answer for one tumour, and which features matter for all of them."""
    data = load_breast_cancer(as_frame=True)
    labels = np.array(["malignant", "benign"])[data.target]
    clf = FERLClassifier(random_state=0).fit(data.data, labels)
    chosen = int(np.abs(clf.predict_proba(data.data)[:, 1] - 0.85).argmin())
    figure, panels = sheet(11, 4.2, 2)
    plot_contributions(clf, data.data.iloc[chosen], max_features=9, ax=panels[0])
    plot_importance(clf, max_features=12, ax=panels[1])
    save(figure, "contributions")


def novelty():
    """A wine with one value of another kind, and a kind of wine that training did not have."""
    wine = load_wine(as_frame=True)
    X, y = wine.data.rename(columns=lambda name: name.replace("_", " ").replace("/", " / ")), wine.target
    fitted, other = (y != 2) & (y.index % 2 == 0), (y != 2) & (y.index % 2 == 1)
    clf = FERLClassifier(random_state=0).fit(X[fitted], y[fitted])
    odd = X[other].iloc[3].copy()
    odd["flavanoids"], odd["proline"] = 0.5, 300.0
    figure, panels = sheet(11, 3.8, 2)
    plot_novelty(clf, odd, max_features=8, ax=panels[0])
    plot_novelty_of_rows(clf, X[other], label="other wines of these kinds", ax=panels[1])
    plot_novelty_of_rows(clf, X[y == 2], label="another kind", ax=panels[1])
    save(figure, "novelty", dpi=90)


def similar():
    """Handwritten digits, and the most similar known ones."""
    X, y = load_digits(return_X_y=True)
    clf = FERLClassifier(cases=True, random_state=0).fit(X[::3], y[::3])
    rows = X[1::3][np.isin(y[1::3], (1, 7, 8))][:6]
    figure, ax = sheet(6.4, 3.6)
    plot_similar(clf, rows, ax=ax)
    save(figure, "similar", dpi=90)


def evidence():
    """Three flowers: one clear, one between two kinds, one that is none."""
    clf = FERLTreeClassifier("medium", random_state=0).fit(FLOWERS, KINDS)
    between = FLOWERS[np.argmax(clf.predict_set(FLOWERS).sum(axis=1) == 2)]
    figure, panels = sheet(11, 2.6, 3)
    for ax, flower, title in zip(panels, (FLOWERS[0], between, [9, 1, 2.5, 6]), "abc", strict=True):
        plot_evidence(clf, flower, legend=title == "b", ax=ax)
        ax.set_title(f"({title}) {ax.get_title(loc='left')}", loc="left", fontsize=10)
    save(figure, "evidence")


def memberships():
    """Words of compact rules, and bands of a learned tree."""
    figure, panels = sheet(11, 3.2, 2)
    words = FERLClassifier(words=True, random_state=0).fit(FLOWERS, KINDS)
    plot_memberships(words, "petal length", feature_names=PARTS, ax=panels[0])
    bands = FERLTreeClassifier("medium", random_state=0).fit(FLOWERS, KINDS)
    plot_memberships(bands, "petal length", feature_names=PARTS, max_splits=4, ax=panels[1])
    save(figure, "memberships")


def regions():
    """The two features of iris that matter."""
    figure, ax = sheet(6.2, 4.0)
    clf = FERLTreeClassifier("medium", random_state=0).fit(FLOWERS[:, 2:], KINDS)
    plot_decision_regions(clf, FLOWERS[:, 2:], KINDS, feature_names=PARTS[2:], n_steps=150, ax=ax)
    save(figure, "regions")
    figure, ax = sheet(6.2, 4.0)
    rules = FERLClassifier(random_state=0).fit(FLOWERS, KINDS)
    plot_decision_regions(rules, FLOWERS, KINDS, features=(2, 0), feature_names=PARTS, n_steps=80, ax=ax)
    save(figure, "regions_held", dpi=64)


def curves():
    """FERL and CART on rows left out of training."""
    data = load_breast_cancer()
    models = {
        "FERL-deep": FERLTreeClassifier("deep", random_state=0),
        "CART, leaves of 5": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    }
    risk, reliability = sheet(5.6, 3.8), sheet(4.6, 4.4)
    for name, model in models.items():
        proba = cross_val_predict(model, data.data, data.target, cv=5, method="predict_proba")
        answers = (data.target, proba.argmax(axis=1), proba.max(axis=1))
        plot_risk_coverage(*answers, label=name, ax=risk[1])
        plot_reliability(*answers, n_bins=10, label=name, ax=reliability[1])
    save(risk[0], "risk_coverage")
    save(reliability[0], "reliability")


FOLDER.mkdir(parents=True, exist_ok=True)
for draw in (trees, shapes, contributions, novelty, similar, evidence, memberships, regions, curves):
    draw()
