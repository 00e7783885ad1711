"""Why wide rules answer as they do: weights of evidence that add up, in sentences."""

from __future__ import annotations

from ferl._read.explanation.balance import Balance, FeatureWeight
from ferl._read.explanation.fired import WideRule
from ferl._read.explanation.page import Section, Table
from ferl._read.explanation.story import Story
from ferl._read.explanation.unlike import what_lacks
from ferl._read.wide_text import weight_text
from ferl._util.text import listed, number_text, share_text, spoken, value_text

MAX_FEATURES = 8  # that are shown; the others are summed
MAX_RULES = 6
MAX_OUTSIDE = 3  # features that an answer blames
LEAST_SHOWN = 0.005  # weight that two decimals show
RAMP = ".."  # in conditions that values fit by degrees
SECOND_REASON = 0.5  # of the first one, that a feature weighs which is named beside it

CAUSES = {
    "weak_firing": "the weights leave it open",
    "lost_support": "values lie outside what training saw",
}
"""What each part of the ignorance means."""


def what_is_open(story: Story, balance: Balance) -> str:
    """Why so much is left open where all values lie inside what training saw, as a clause."""
    if len(story.classes) == 2:
        scores = balance.scores
        told = f"{abs(scores[1] - scores[0]):.2f} for {spoken(story.classes[story.best])}"
        return f"the weights add up to {told}, and every 0.69 halves what stays open"
    return "the more the weights speak for and against classes, the less stays open"


def reason(story: Story, balance: Balance) -> str:
    """The features that matter most for the label, as a clause to follow the answer."""
    speaking = _speaking_for(balance, story.best)
    if not speaking:
        return ", as for the average training row"
    least = SECOND_REASON * abs(balance.moves(speaking[0]))
    named = [part for part in speaking[:2] if abs(balance.moves(part)) >= least]
    return f", because {listed([_said(part) for part in named])}"


def reason_for_doubt(story: Story, balance: Balance) -> str:
    """Why the set has more than one class, in one clause."""
    if story.doubt.main == "lost_support":
        said = "nothing is said" if balance.support == 0 else f"all weights count by {share_text(balance.support)} only"
        return f"{said}, because {_outside(story, balance)}{what_lacks(story)}"
    clauses, base = [], balance.apart(balance.base)
    for c, sign in zip(balance.compared, (1, -1), strict=True):
        strongest = _speaking_for(balance, c)[:1]
        clauses += [f"{_said(part)}, which speaks for {spoken(story.classes[c])}" for part in strongest]
        if not strongest and sign * base >= LEAST_SHOWN:
            clauses.append(f"the average training row speaks for {spoken(story.classes[c])}")
    if not clauses:
        return f"little speaks for any class{what_lacks(story)}"
    return f"{'; '.join(clauses)}{what_lacks(story)}"


def _outside(story: Story, balance: Balance) -> str:
    """Which values lie outside what training saw, those that cost most first."""
    parts = {part.feature: part for part in balance.features}
    names = [name for name, _ in story.lost_support]
    clauses = [_beside_seen(parts[name]) for name in names[:MAX_OUTSIDE]]
    more = len(names) - MAX_OUTSIDE
    return listed(clauses + [f"{more} more {'value lies' if more == 1 else 'values lie'} outside"] * (more > 0))


def _beside_seen(part: FeatureWeight) -> str:
    if part.seen is None:
        return f"{_said(part)}, which training did not have"
    low, high = map(number_text, part.seen)
    return f"{_said(part)} while training saw {low if low == high else f'{low} to {high}'}"


def _said(part: FeatureWeight) -> str:
    return f"{spoken(part.feature)} is {value_text(part.value)}"


def _speaking_for(balance: Balance, c: int) -> list[FeatureWeight]:
    """Features that speak for one of the compared classes, the strongest first."""
    sign = 1 if c == balance.compared[0] else -1
    return [part for part in balance.features if sign * balance.moves(part) >= LEAST_SHOWN]


def balance_section(story: Story, balance: Balance) -> Section:
    """What each feature adds, and what they add up to."""
    towards, against = (spoken(story.classes[c]) for c in balance.compared)
    shown = [part for part in balance.features if abs(balance.moves(part)) >= LEAST_SHOWN][:MAX_FEATURES]
    hidden = [part for part in balance.features if part not in shown]
    rows = [("average training row", "", weight_text(balance.apart(balance.base)))]
    rows += [(spoken(part.feature), value_text(part.value), weight_text(balance.moves(part))) for part in shown]
    if hidden:
        rest = sum(balance.moves(part) for part in hidden)
        rows.append((f"{len(hidden)} other {'feature' if len(hidden) == 1 else 'features'}", "", weight_text(rest)))
    rows.append(("sum", "", weight_text(balance.apart(balance.scores))))
    lines = [f"A weight of +0.69 doubles the odds of {towards} against {against}, one of -0.69 halves them."]
    if balance.support < 1:
        lines.append(f"All weights count by {share_text(balance.support)}, since values lie outside what training saw.")
    title = f"What speaks for {towards} (+) and for {against} (-)"
    return Section(title, tuple(lines), Table(("feature", "value", "weight"), tuple(rows)))


def rules_section(story: Story, balance: Balance) -> Section:
    """The rules that fired, and what each adds to the compared classes."""
    rules = [rule for rule in story.rules if isinstance(rule, WideRule)]
    if not rules:
        return Section("Rules that fired", ("None: the row fits no rule.",))
    lines = [_rule_line(rule, story, balance) for rule in rules[:MAX_RULES]]
    hidden = rules[MAX_RULES:]
    if hidden:
        rest = sum(balance.apart(rule.weight) for rule in hidden)
        lines.append(f"... and {len(hidden)} more, which together add {weight_text(rest)}.")
    lines.append(f"Before any rule the prior says {weight_text(balance.apart(balance.prior))}.")
    lines.append("Here a rule is compared with its own silence; above, a value with the average training row.")
    if any(RAMP in rule.conditions for rule in rules[:MAX_RULES]):
        lines.append("A condition such as above 2..3 fits not at all up to 2 and fully from 3 on.")
    return Section("Rules that fired", tuple(lines))


def _rule_line(rule: WideRule, story: Story, balance: Balance) -> str:
    weight = balance.apart(rule.weight)
    favoured = spoken(story.classes[balance.compared[0 if weight > 0 else 1]])
    # Of three and more classes a rule may move a third one further than the two that it moves apart: tell both.
    told = [story.best] if len(story.classes) <= 2 else list(balance.compared)
    names = [spoken(story.classes[c]) for c in told]
    then, now = ([f"{100 * own[c]:.1f} %" for c in told] for own in (rule.probability_without, story.probability))
    change = f"{names[0]} would have {then[0]} instead of {now[0]}"
    if then == now:
        change = f"{listed([f'{name} would still have {share}' for name, share in zip(names, now, strict=True)])}"
    elif len(told) == 2:
        change = f"{names[0]} would have {then[0]} and {names[1]} {then[1]}, instead of {now[0]} and {now[1]}"
    return (
        f"Rule {rule.number} fires by {share_text(rule.firing)} and adds {weight_text(weight)}, for {favoured}: if "
        f"{rule.conditions}. Without it {change}."
    )
