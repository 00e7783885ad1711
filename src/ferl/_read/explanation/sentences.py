"""An explanation in sentences that need no legend."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ferl._read.explanation import tree_reasons, weight_reasons
from ferl._read.explanation.counterfactual import Change
from ferl._read.explanation.fired import WideRule, rule_form
from ferl._read.explanation.page import Readable, Section, Table
from ferl._read.explanation.story import Story, certified_form, novelty_form
from ferl._read.explanation.unlike import novelty_section, unlike
from ferl._read.verdicts import spreads_text
from ferl._util.text import difference_text, exact_text, is_meaning, listed, percent_text, plain, spoken, value_text

MAX_CLASSES = 12
MAX_FEATURES = 5
LEAST_CONFLICT = LEAST_IGNORANCE = 0.0005  # that three decimals show
MAX_PROBABLE = 3  # classes that a summary names
MAX_SILENT = 3  # features of which a line tells where no rule speaks


def sections(story: Story) -> list[Section]:
    """The whole page."""
    page = [Section("", (summarise(story),), is_lead=True), _evidence(story), _prediction_set(story)]
    if story.balance is None:
        page.append(tree_reasons.rules_section(story))
    elif story.balance.support > 0:
        page += [
            weight_reasons.balance_section(story, story.balance),
            weight_reasons.rules_section(story, story.balance),
        ]
    page += [Section("What the words mean", story.words), _ignorance(story), novelty_section(story), _stability(story)]
    return [section for section in page if section.lines or section.table is not None]


# ---------------------------------------------------------------------------------------------------------------------
# The answer
# ---------------------------------------------------------------------------------------------------------------------


def summarise(story: Story) -> str:
    """One sentence: the answer and the main reason for it."""
    answer = f"{spoken(story.target)}: {answer_text(story)}" if story.target else answer_text(story)
    if sum(story.in_set) > 1:
        return f"{answer}: {_reason_for_doubt(story)}."
    balance, warning = story.balance, unlike(story)
    reason = tree_reasons.reason(story) if balance is None else weight_reasons.reason(story, balance)
    if warning and warning.named in reason:
        return f"{answer}{reason}; but {warning.usually}."
    return f"{answer}{reason}{f'; but {warning}' if warning else ''}."


def answer_text(story: Story) -> str:
    """The classes of the set with their probabilities, or that there is no answer."""
    if story.abstains and story.ignorance == 1:
        return "No answer"
    named = [c for c in class_order(story) if story.in_set[c]]
    words = [f"{spoken(story.classes[c])} ({percent_text(story.probability[c])})" for c in named]
    return f"No answer, {listed(words[:MAX_PROBABLE], 'or')}" if story.abstains else listed(words, "or")


def class_order(story: Story) -> list[int]:
    """Indices of the classes, the most probable first."""
    return sorted(range(len(story.classes)), key=lambda c: -story.probability[c])


def _reason_for_doubt(story: Story) -> str:
    if story.balance is None:
        return tree_reasons.reason_for_doubt(story)
    return weight_reasons.reason_for_doubt(story, story.balance)


# ---------------------------------------------------------------------------------------------------------------------
# Evidence
# ---------------------------------------------------------------------------------------------------------------------


def _evidence(story: Story) -> Section:
    order = class_order(story)
    rows = tuple(
        (
            spoken(story.classes[c]),
            f"{100 * story.probability[c]:.1f} %",
            _support(story, c),
            "in the set" if story.in_set[c] else "not in the set",
        )
        for c in order[:MAX_CLASSES]
    )
    hidden = len(order) - MAX_CLASSES
    lines = [f"... and {hidden} more classes, each less probable."] if hidden > 0 else []
    if any(support.startswith("up to") for _, _, support, _ in rows):
        lines.append(
            "Where the support of a class is told by its upper end alone, what speaks against the other classes makes "
            "its lower end larger than its probability."
        )
    return Section("Evidence", tuple(lines), Table(("class", "probability", "support", ""), rows))


def _support(story: Story, c: int) -> str:
    """The range of support of a class, where it holds the probability beside it; else its upper end, which does.

    Of two classes, and of trees, it always does. Of three and more the belief of wide rules may exceed the probability.
    """
    low, own, high = (f"{100 * value[c]:.1f}" for value in (story.belief, story.probability, story.plausibility))
    return f"{low} to {high} %" if float(low) <= float(own) else f"up to {high} %"


def _prediction_set(story: Story) -> Section:
    """Why the set is not smaller."""
    if story.abstains and story.ignorance == 1:
        return Section("")
    most = story.belief.index(max(story.belief))
    others = [c for c in range(len(story.classes)) if story.in_set[c] and c != story.best]
    others.sort(key=lambda c: -story.plausibility[c])
    least = f"that of {spoken(story.classes[most])} begins at {100 * story.belief[most]:.1f} %"
    lines = [
        f"The support of {spoken(story.classes[c])} reaches up to {100 * story.plausibility[c]:.1f} %, and {least}."
        for c in others[:MAX_CLASSES]
    ]
    if len(others) > MAX_CLASSES:
        lines.append(f"... and so it is with {len(others) - MAX_CLASSES} more classes.")
    return Section("Why other classes are in the set", tuple(lines))


def _ignorance(story: Story) -> Section:
    lines = ["Next to nothing: the rules leave no evidence open."]
    if story.ignorance >= LEAST_IGNORANCE:
        lines = [f"Ignorance is {story.ignorance:.3f}, from 0 (settled) to 1 (nothing said): {_open_because(story)}."]
    if story.balance is not None and story.conflict >= LEAST_CONFLICT:
        lines.append(f"Conflict is {story.conflict:.3f}, the share of all weights, for and against, that cancels.")
    if story.missing:
        names = [spoken(name) for name in story.missing[:MAX_FEATURES]]
        more = len(story.missing) - len(names)
        names += [f"{more} more"] * (more > 0)
        them = "it" if len(story.missing) == 1 else "them"
        both = f"The row goes down both branches where a rule asks for {them}."
        usual = f"Rules on {them} fire as they do for the average training row."
        lines.append(f"Missing: {listed(names)}. {both if story.balance is None else usual}")
    return Section("What is not known", tuple(lines))


def _open_because(story: Story) -> str:
    """The causes of the ignorance, the largest first, with the part of each where there are several."""
    causes = tree_reasons.CAUSES if story.balance is None else weight_reasons.CAUSES
    parts = {name: getattr(story.doubt, name) for name in causes}
    shown = sorted((name for name in parts if parts[name] >= LEAST_IGNORANCE), key=lambda name: -parts[name])
    if story.balance is not None and shown == ["weak_firing"]:
        return weight_reasons.what_is_open(story, story.balance)
    if len(shown) == 1:
        return causes[shown[0]]
    return listed([f"{parts[name]:.3f} because {causes[name]}" for name in shown]) or "from many small causes"


# ---------------------------------------------------------------------------------------------------------------------
# What would change the answer
# ---------------------------------------------------------------------------------------------------------------------


def _stability(story: Story) -> Section:
    if story.abstains:
        return Section("")  # there is no label to change
    lines = []
    label = spoken(story.label)
    if story.certified is not None:
        radius = story.certified.radius
        if math.isinf(radius):
            lines.append(f"Proven: however far the numbers move, the label stays {label}.")
        elif radius > 0:
            lines.append(
                f"Proven: the label stays {label} as long as no number moves by more than {spreads_text(radius)} "
                "(standard deviations over the training rows)."
            )
        else:
            lines.append(f"Nothing is proven: {label} has no margin before other classes.")
    if story.changes is not None:
        lines += _change_lines(story, story.changes, label)
    if story.missing:
        lines.append("Missing values are taken to stay missing.")
    return Section("What would change the label", tuple(lines))


def range_text(story: Story) -> str:
    """What the range is called that values are compared with: a tree knows its splits and the rows it keeps alone."""
    return "range that the model remembers" if story.balance is None else "range seen in training"


def _change_lines(story: Story, changes: tuple[Change, ...], label: str) -> list[str]:
    searched = listed([spoken(name) for name in story.unproven[:MAX_FEATURES]])
    within = f"within the {range_text(story)}"
    if not changes and not searched:
        return [f"Proven: no change of a single value {within} makes the label another one than {label}."]
    telling = [change for change in changes if not change.is_silent]
    lines = [_change_line(change) for change in telling[:MAX_FEATURES]]
    if len(telling) > MAX_FEATURES:
        n_more = len(telling) - MAX_FEATURES
        lines.append(f"... and {n_more} more {'feature' if n_more == 1 else 'features'}, further away.")
    if any(isinstance(change.to, float) for change in telling):
        lines.append(f"Each number is the nearest {within}, rounded to few digits.")
    if changes and not telling:
        lines.append(f"No change of a single value {within} makes the label another one than {label}.")
    if len(telling) < len(changes):
        lines.append(_silent_line([change for change in changes if change.is_silent]))
    if searched:
        lines.append(
            f"No change of {searched} alone {within} was found that makes the label another one than {label}; that "
            "is searched, not proven."
        )
    return lines


def _silent_line(changes: list[Change]) -> str:
    """The nearest values where no rule speaks, so that there is no label any more."""
    told = [f"{spoken(own.feature)} were {_told(own.to)}" for own in changes[:MAX_SILENT]]
    more = len(changes) - MAX_SILENT
    told += [f"one of {more} more features moved as far" if more > 1 else "one more feature moved as far"] * (more > 0)
    return f"There would be no answer, because no rule speaks there, if {listed(told, 'or')}."


def _told(value: Any) -> str:
    return exact_text(value) if isinstance(value, float) and not is_meaning(value) else value_text(value)


def _change_line(change: Change) -> str:
    name, answer = spoken(change.feature), spoken(change.label)
    if not isinstance(change.to, float) or is_meaning(change.to):
        return f"If {name} were {value_text(change.to)} instead of {value_text(change.value)}: {answer}."
    # With fewer digits than it has the value might no longer alter the label.
    to, now, is_up = exact_text(change.to), value_text(change.value), change.to > change.value
    now = exact_text(change.value) if now == to else now
    apart = difference_text(change.to, change.value)
    if getattr(change.to, "step", ""):  # a date
        apart += " later" if is_up else " earlier"
    else:
        apart = f"{'up' if is_up else 'down'} by {apart}"
    return f"If {name} were {to} instead of {now} ({apart}, {spreads_text(change.distance)}): {answer}."


@dataclass(frozen=True)
class Explanation(Story, Readable):
    """Why a row got its answer, and what would change it.

    ``print`` it for text, look at it in a notebook for HTML, print it with rich for colours, or take :meth:`to_dict`.
    Its attributes are those of :class:`Story`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)
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

    def against(self, label: Any) -> Explanation:
        """The story of a wide model told by what speaks for the most probable class and against this one.

        Parameters
        ----------
        label : object
            Another class.

        Returns
        -------
        Explanation
        """
        if self.balance is None:
            raise ValueError("Rules of a tree have no weights of evidence that add up; only stories of wide models do.")
        others = [own for c, own in enumerate(self.classes) if c != self.best]
        if label not in others:
            raise ValueError(f"label is {label!r}; choose one of {listed([repr(own) for own in others], 'or')}.")
        balance = self.balance.between(self.best, self.classes.index(label))
        rules = [rule for rule in self.rules if isinstance(rule, WideRule)]
        rules.sort(key=lambda rule: -abs(balance.apart(rule.weight)))
        return replace(self, balance=balance, rules=tuple(rules))

    @cached_property
    def _sections(self) -> list[Section]:
        return sections(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON; what is no number, or infinite, is None."""
        names = [plain(label) for label in self.classes]
        by_class = zip(names, self.probability, self.belief, self.plausibility, self.in_set, strict=True)
        return {
            **({"target": self.target} if self.target else {}),
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
            "novelty": {
                "total": plain(self.novelty),
                "rank": self.novelty_rank,
                "features": [novelty_form(part) for part in self.novelty_parts],
            },
            "lost_support": [{"feature": name, "firing": lost} for name, lost in self.lost_support],
            "certified": None if self.certified is None else certified_form(self.certified),
            "changes": None if self.changes is None else [change.to_dict() for change in self.changes],
            "unproven": list(self.unproven),
            "missing": list(self.missing),
            "unseen": [{"feature": name, "value": plain(value)} for name, value in self.unseen],
            "words": list(self.words),
            "balance": None if self.balance is None else self.balance.to_dict(names),
        }
