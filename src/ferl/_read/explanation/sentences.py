"""An explanation in sentences that need no legend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ferl._read.explanation.counterfactual import Change
from ferl._read.explanation.page import Readable, Section, Table
from ferl._read.explanation.story import FiredRule, Story, certified_form, novelty_form, rule_form
from ferl._read.explanation.typical import NoveltyPart, Usual
from ferl._util.text import exact_text, listed, number_text, plain, share_text, spoken, value_text

MAX_RULES = 6  # that are shown; the others are counted
MAX_CLASSES = 12
MAX_FEATURES = 5
MUCH_IGNORANCE = 0.1  # below it a set of several classes comes from divided belief

CAUSES = {
    "weak_firing": "no rule fires fully",
    "thin_support": "few training rows are behind the rules",
    "lost_support": "values lie outside what the rules saw in training",
    "conflict": "rules contradict each other",
}
"""What each part of the ignorance means."""


def sections(story: Story) -> list[Section]:
    """The whole page."""
    page = [Section("", (summarise(story),), is_lead=True), _evidence(story), _prediction_set(story), _rules(story)]
    page += [Section("What the words mean", story.words), _ignorance(story), _novelty(story), _stability(story)]
    return [section for section in page if section.lines or section.table is not None]


# ---------------------------------------------------------------------------------------------------------------------
# The answer
# ---------------------------------------------------------------------------------------------------------------------


def summarise(story: Story) -> str:
    """One sentence: the answer and the main reason for it."""
    label = spoken(story.label)
    if story.abstains:
        every = "both" if len(story.classes) == 2 else f"all {len(story.classes)}"
        start = f"No answer, {every} classes stay possible ({label} would be the guess)"
        return f"{start}: {reason_for_doubt(story)}."
    kept = [spoken(own) for own in story.prediction_set]
    if len(kept) > 1:
        kept.sort(key=lambda own: own != label)
        return f"{listed(kept, 'or')}, {label} the more likely: {reason_for_doubt(story)}."
    answer = f"{label} with belief {share_text(story.belief[story.label_index])}"
    reason = ""
    if story.rules and story.rules[0].conditions:
        reason = f", because {story.rules[0].conditions}"
    warning = _unlike(story)
    return f"{answer}{reason}{f'; but {warning}' if warning else ''}."


def reason_for_doubt(story: Story) -> str:
    """Why the set has more than one class, in one clause."""
    if not story.rules:
        return f"no rule fires{_where_lost(story)}{_what_lacks(story)}"
    if story.ignorance < MUCH_IGNORANCE:
        ranked = sorted(zip(story.belief, story.classes, strict=True), key=lambda own: -own[0])[:2]
        return f"belief is divided, {listed([f'{share_text(bel)} for {spoken(own)}' for bel, own in ranked])}"
    cause = story.doubt.main
    if cause == "weak_firing":
        strongest = max(rule.firing for rule in story.rules)
        return f"no rule fires fully, the strongest by {share_text(strongest)}{_what_lacks(story)}"
    if cause == "lost_support":
        return (_unlike(story) or CAUSES[cause]) + _what_lacks(story)
    return CAUSES[cause] + _what_lacks(story)


def _what_lacks(story: Story) -> str:
    names = [spoken(name) for name in story.missing]
    if not names:
        return ""
    if len(names) > 3:
        return f", with {len(names)} values missing"
    return f", and {listed(names)} {'is' if len(names) == 1 else 'are'} missing"


def _where_lost(story: Story) -> str:
    return f" because {clause}" if (clause := _unlike(story)) else ""


def _unlike(story: Story) -> str:
    """What is most unlike the training rows, where something clearly is."""
    odd = [part for part in story.novelty_parts if part.is_unusual]
    lost = [name for name, _ in story.lost_support]
    if lost:  # a gate that closed names its feature, whatever else is unusual
        odd = [part for part in story.novelty_parts if part.feature == lost[0]]
    if not odd:
        return ""
    return f"{spoken(odd[0].feature)} is {_value_beside_usual(odd[0], story)}"


def _value_beside_usual(part: NoveltyPart, story: Story) -> str:
    if any(name == part.feature for name, _ in story.unseen):
        return f"{value_text(part.value)}, a category that training did not have"
    usual = usual_text(part.usual)
    if usual and _is_outside(part):
        return f"{value_text(part.value)}, while {usual} is usual"
    return f"{value_text(part.value)}, outside what a rule saw in training"


def _is_outside(part: NoveltyPart) -> bool:
    usual = part.usual
    if usual is None or usual.low is None or usual.high is None or not isinstance(part.value, float):
        return part.is_unusual
    return not usual.low <= part.value <= usual.high


def usual_text(usual: Usual | None) -> str:
    """What is usual, in words; "" where nothing is known."""
    if usual is None:
        return ""
    if usual.categories:
        return listed([spoken(own) for own in usual.categories], "or")
    if usual.low is None or usual.high is None:
        return ""
    if usual.low == usual.high:
        return number_text(usual.low)
    return f"{number_text(usual.low)} to {number_text(usual.high)}"


# ---------------------------------------------------------------------------------------------------------------------
# Evidence
# ---------------------------------------------------------------------------------------------------------------------


def _evidence(story: Story) -> Section:
    order = sorted(range(len(story.classes)), key=lambda c: -story.probability[c])
    rows = tuple(
        (
            spoken(story.classes[c]),
            f"{story.belief[c]:.3f}",
            f"{story.plausibility[c]:.3f}",
            f"{story.probability[c]:.3f}",
            "stays possible" if story.in_set[c] else "ruled out",
        )
        for c in order[:MAX_CLASSES]
    )
    hidden = len(order) - MAX_CLASSES
    lines = (f"... and {hidden} more classes, each less probable.",) if hidden > 0 else ()
    return Section("Evidence", lines, Table(("class", "proven", "not excluded", "probability", ""), rows))


def _prediction_set(story: Story) -> Section:
    """Why the set is not smaller."""
    best = max(story.belief)
    others = [c for c in range(len(story.classes)) if story.in_set[c] and c != story.label_index]
    others.sort(key=lambda c: -story.plausibility[c])
    lines = [
        f"{spoken(story.classes[c])} stays possible: its plausibility {story.plausibility[c]:.3f} reaches the largest "
        f"belief {best:.3f}, by {story.plausibility[c] - best:.3f}."
        for c in others[:MAX_CLASSES]
    ]
    if len(others) > MAX_CLASSES:
        lines.append(f"... and so do {len(others) - MAX_CLASSES} more classes.")
    return Section("Why other classes stay possible", tuple(lines))


def _rules(story: Story) -> Section:
    if not story.rules:
        return Section("Rules that fired", ("None: the row fits no rule.",))
    label = spoken(story.label)
    lines = [_rule_line(rule, story, label) for rule in story.rules[:MAX_RULES]]
    hidden = story.rules[MAX_RULES:]
    if hidden:
        rest = sum(rule.belief[story.label_index] for rule in hidden)
        lines.append(f"... and {len(hidden)} more, which together give {rest:.3f} of the belief in {label}.")
    return Section("Rules that fired", tuple(lines))


def _rule_line(rule: FiredRule, story: Story, label: str) -> str:
    label_index = story.label_index
    name = "A beginning of rules" if rule.number is None else f"Rule {rule.number}"
    condition = f"if {rule.conditions}" if rule.conditions else "always"
    says = f"{spoken(rule.label)} with confidence {share_text(rule.confidence)}"
    gives = f"It gives {rule.belief[label_index]:.3f} of the belief {story.belief[label_index]:.3f} in {label}"
    return (
        f"{name} fires by {share_text(rule.firing)}: {condition}, then {says}. {gives}; without it that belief would "
        f"be {rule.belief_without[label_index]:.3f}."
    )


def _ignorance(story: Story) -> Section:
    if story.ignorance < 0.0005:
        return Section("What is not known", ("Next to nothing: the rules leave no evidence open.",))
    parts = {name: getattr(story.doubt, name) for name in CAUSES}
    shown = sorted((name for name in parts if parts[name] >= 0.0005), key=lambda name: -parts[name])
    causes = [f"{parts[name]:.3f} because {CAUSES[name]}" for name in shown]
    lines = [f"Ignorance is {story.ignorance:.3f}: {listed(causes) or 'from many small causes'}."]
    if story.missing:
        names = [spoken(name) for name in story.missing[:MAX_FEATURES]]
        more = len(story.missing) - len(names)
        names += [f"{more} more"] * (more > 0)
        lines.append(f"Missing: {listed(names)}. The row goes down both branches where a rule asks for that.")
    return Section("What is not known", tuple(lines))


# ---------------------------------------------------------------------------------------------------------------------
# Novelty, and what would change the answer
# ---------------------------------------------------------------------------------------------------------------------


def _novelty(story: Story) -> Section:
    title = "How unlike the training rows it is"
    if len(story.missing) == len(story.novelty_parts):
        return Section(title, ("Nobody can say: all values are missing.",))
    if story.novelty == 0:
        return Section(title, ("Not at all: novelty is 0.",))
    lines = [
        f"{spoken(name)} is {value_text(value)}, a category that training did not have." for name, value in story.unseen
    ]
    parts = [part for part in story.novelty_parts if part.part >= 0.005 * story.novelty][:MAX_FEATURES]
    rows = tuple(
        (spoken(part.feature), value_text(part.value), usual_text(part.usual), _share(part.part, story.novelty))
        for part in parts
    )
    for name, lost in story.lost_support[:MAX_FEATURES]:
        lines.append(
            f"Lost at {spoken(name)}: {share_text(lost)} of the firing, since rules saw no such value in training."
        )
    amount = f"{story.novelty:.3g}" if math.isfinite(story.novelty) else "too large to be told"
    lines.insert(0, f"Novelty is {amount}.")
    return Section(title, tuple(lines), Table(("feature", "value", "usual here", "share"), rows))


def _share(part: float, novelty: float) -> str:
    return f"{part / novelty:.0%}" if math.isfinite(novelty) else ""


def _stability(story: Story) -> Section:
    lines = []
    label = spoken(story.label)
    if story.certified is not None:
        radius = story.certified.radius
        if math.isinf(radius):
            lines.append(f"Proven: however far the numbers move, the label stays {label}.")
        elif radius > 0:
            lines.append(
                f"Proven: the label stays {label} as long as no number moves by more than {radius:.2g} spreads "
                "(standard deviations over the training rows)."
            )
        else:
            lines.append(f"Nothing is proven: {label} has no margin before other classes.")
    if story.changes is not None:
        lines += _change_lines(story, story.changes, label)
    if story.missing:
        lines.append("Values that are missing are taken to stay so.")
    return Section("What would change the label", tuple(lines))


def _change_lines(story: Story, changes: tuple[Change, ...], label: str) -> list[str]:
    searched = listed([spoken(name) for name in story.unproven[:MAX_FEATURES]])
    if not changes and not searched:
        return [f"Proven: no change of a single value makes it anything but {label}."]
    lines = [_change_line(change) for change in changes[:MAX_FEATURES]]
    if len(changes) > MAX_FEATURES:
        lines.append(f"... and {len(changes) - MAX_FEATURES} more features, further away.")
    if searched:
        lines.append(
            f"No change of {searched} alone was found that makes it anything but {label}; that is searched, not proven."
        )
    return lines


def _change_line(change: Change) -> str:
    name, label = spoken(change.feature), spoken(change.label)
    answer = f"no rule fires any more ({label} is then the first of equals)" if change.is_silent else label
    if not isinstance(change.to, float):
        return f"If {name} were {value_text(change.to)} instead of {value_text(change.value)}: {answer}."
    # With fewer digits than it has the value might no longer alter the label.
    direction = "up" if change.to > change.value else "down"
    return (
        f"If {name} were {exact_text(change.to)} instead of {value_text(change.value)} ({direction} by "
        f"{number_text(abs(change.to - change.value))}, {change.distance:.2g} spreads): {answer}."
    )


@dataclass(frozen=True)
class Explanation(Story, Readable):
    """Why a row got its answer, and what would change it.

    ``print`` it for text, look at it in a notebook for HTML, print it with rich for colours, or take :meth:`to_dict`.
    Its attributes are those of :class:`Story`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(X, y)
    >>> story = clf.explain(X[70])
    >>> story.label, story.in_set
    (2, (False, False, True))
    >>> round(sum(rule.belief[2] for rule in story.rules) - story.belief[2], 12)
    0.0
    >>> [(change.feature, change.to, change.label) for change in story.changes]
    [('x3', 1.675, 1), ('x2', 2.4, 0)]
    """

    @cached_property
    def summary(self) -> str:
        """One sentence: the label, the set or the abstention, and the main reason."""
        return summarise(self)

    @cached_property
    def _sections(self) -> list[Section]:
        return sections(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON; what is no number, or infinite, is None."""
        names = [plain(label) for label in self.classes]
        by_class = zip(names, self.probability, self.belief, self.plausibility, self.in_set, strict=True)
        return {
            "label": plain(self.label),
            "summary": self.summary,
            "abstains": self.abstains,
            "set": [plain(label) for label in self.prediction_set],
            "classes": [
                {"label": label, "probability": p, "belief": bel, "plausibility": pl, "in_set": inside}
                for label, p, bel, pl, inside in by_class
            ],
            "ignorance": {"total": self.ignorance, **vars(self.doubt)},
            "conflict": self.conflict,
            "rules": [rule_form(rule) for rule in self.rules],
            "novelty": {"total": plain(self.novelty), "features": [novelty_form(part) for part in self.novelty_parts]},
            "lost_support": [{"feature": name, "firing": lost} for name, lost in self.lost_support],
            "certified": None if self.certified is None else certified_form(self.certified),
            "changes": None if self.changes is None else [change.to_dict() for change in self.changes],
            "unproven": list(self.unproven),
            "missing": list(self.missing),
            "unseen": [{"feature": name, "value": plain(value)} for name, value in self.unseen],
            "words": list(self.words),
        }
