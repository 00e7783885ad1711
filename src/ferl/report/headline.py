"""The report in half a minute: one sentence on what is predicted, for which rows, how well, and what is missed."""

from __future__ import annotations

from typing import Any

from ferl._util.text import listed, percent_text

MAX_NAMED = 4  # classes whose recall the sentence tells one by one
MAX_BARS = 12  # classes of the picture


def headline(
    model: dict[str, Any],
    table: dict[str, Any],
    measures: dict[str, Any] | None,
    classes: list[dict[str, Any]],
    target: str | None,
) -> dict[str, Any]:
    """What a reader should know before all else.

    Parameters
    ----------
    model, table, measures, classes : dict, dict, dict or None, list of dict
        As the report has them.
    target : str or None
        Name of what is predicted; None: the model does not know it.

    Returns
    -------
    dict
        ``sentence``; and ``bars``, what becomes of the rows of each class, None without labels.
    """
    names = [own["name"] for own in classes]
    n_rules = model["n_rules"]
    rules = f"{n_rules} {'rule' if n_rules == 1 else 'rules'}" if n_rules else "a model without rules"
    rows = f"{table['n_rows']:,} {'row' if table['n_rows'] == 1 else 'rows'} of {table['name']}"
    verb = "predicts" if n_rules <= 1 else "predict"
    subject = f"For {rows}, {rules} {verb} {_asked(names, target)}"
    if measures is None:
        unknown = "no label is known, so nobody can say how many are right"
        return {"sentence": f"{subject}; {_open(table)}; {unknown}.", "bars": None}
    finds = "it finds" if n_rules <= 1 else "they find"
    sentence = f"{subject}: {_quality(measures, names)}; {finds} {_found(measures)}; {_open(table)}."
    return {"sentence": sentence, "bars": _bars(measures)}


def heading(target: str | None) -> str:
    """The title of a page that the user has given none: what is predicted, where the model knows its name."""
    return "Rules, evidence and doubt" if target is None else f"Predicting {target}"


def _asked(names: list[str], target: str | None) -> str:
    """What is predicted: the name of the target if it has one, and its classes."""
    told = listed(names, "or") if len(names) <= MAX_NAMED else f"one of {len(names)} classes"
    return told if target is None else f"{target} ({told})"


def _quality(measures: dict[str, Any], names: list[str]) -> str:
    accuracy, baseline = measures["accuracy"], measures["baseline"]
    guess = f"always saying {names[measures['commonest']]} would be right for {100 * baseline:.1f} %"
    known = "" if not measures["n_without_label"] else f" for the {measures['n_rows']:,} rows with a label"
    right = f"{100 * accuracy:.1f} % of the predictions{known} are right"
    if measures["decision"] == "balanced":
        # Accuracy is not what they aim at: always saying the commonest class is often right more often.
        recalls = [own["recall"] for own in measures["by_class"] if own["recall"] is not None]
        mean = f"the mean recall of the classes is {100 * sum(recalls) / max(len(recalls), 1):.1f} %"
        return f"{right}; {mean}, where always saying one class has {100 / max(len(recalls), 1):.1f} %"
    return f"{right}, where {guess}" if accuracy > baseline else f"{right}, no better than guessing: {guess}"


def _found(measures: dict[str, Any]) -> str:
    """Recall of the classes, the worst first."""
    known = sorted((own for own in measures["by_class"] if own["recall"] is not None), key=lambda own: own["recall"])
    if not known:
        return "no row, since none has a class of the model"
    told = [f"{percent_text(own['recall'])} of {_of_class(own)}" for own in known]
    return listed(told) if len(told) <= MAX_NAMED else f"from {told[0]} to {told[-1]}"


def _of_class(own: dict[str, Any]) -> str:
    return f"the {own['n_rows']:,} {'row' if own['n_rows'] == 1 else 'rows'} of class {own['name']}"


def _open(table: dict[str, Any]) -> str:
    n_open, n_rows = table["n_abstained"], max(table["n_rows"], 1)
    if not n_open:
        return "every row gets an answer"
    return f"{n_open:,} {'row' if n_open == 1 else 'rows'} ({100 * n_open / n_rows:.1f} %) get no answer"


def _bars(measures: dict[str, Any]) -> dict[str, Any]:
    """What becomes of all rows, and of those of each class, the commonest classes first where there are many."""
    known = [own for own in measures["by_class"] if own["n_rows"]]
    if len(known) > MAX_BARS:
        known = sorted(known, key=lambda own: -own["n_rows"])[:MAX_BARS]
    return {
        "all": {"n_rows": measures["n_rows"], "share": measures["accuracy"], "parts": measures["parts"]},
        "classes": [
            {**{key: own[key] for key in ("name", "class", "n_rows", "parts")}, "share": own["recall"]} for own in known
        ],
        "n_hidden": sum(own["n_rows"] > 0 for own in measures["by_class"]) - len(known),
    }
