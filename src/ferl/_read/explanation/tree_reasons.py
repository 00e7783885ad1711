"""Why a tree answers as it does: its rules that fired, in sentences."""

from __future__ import annotations

from ferl._read.explanation.fired import TreeRule
from ferl._read.explanation.page import Section
from ferl._read.explanation.story import Story
from ferl._read.explanation.unlike import unlike, what_lacks
from ferl._util.text import listed, share_text, spoken

MAX_RULES = 6  # that are shown; the others are counted
MUCH_IGNORANCE = 0.1  # below it a set of several classes comes from divided belief

CAUSES = {
    "weak_firing": "rules fire only in part",
    "thin_support": "few training rows are behind the rules",
    "lost_support": "values lie outside what the rules saw in training",
    "conflict": "rules contradict each other",
}
"""What each part of the ignorance means."""


def reason(story: Story) -> str:
    """The rule without which the answer would lose most, as a clause to follow the answer."""
    speaking = [rule for rule in _tree_rules(story) if _adds(rule, story) > 0]
    most = max(speaking, key=lambda rule: _adds(rule, story), default=None)
    return f", because {most.conditions}" if most is not None and most.conditions else ""


def _tree_rules(story: Story) -> list[TreeRule]:
    return [rule for rule in story.rules if isinstance(rule, TreeRule)]


def _adds(rule: TreeRule, story: Story) -> float:
    """What a rule adds to the probability of the most probable class: what is lost without it."""
    return story.probability[story.best] - rule.probability_without[story.best]


def reason_for_doubt(story: Story) -> str:
    """Why the set has more than one class, in one clause."""
    if not story.rules:
        clause = unlike(story)
        return f"no rule covers the row{f', because {clause}' if clause else ''}{what_lacks(story)}"
    if story.ignorance < MUCH_IGNORANCE:
        ranked = sorted(zip(story.belief, story.classes, strict=True), key=lambda own: -own[0])[:2]
        return f"belief is divided, {listed([f'{share_text(bel)} for {spoken(own)}' for bel, own in ranked])}"
    cause = story.doubt.main
    if cause == "weak_firing":
        strongest = max(rule.firing for rule in story.rules)
        return f"rules fire only in part, the strongest by {share_text(strongest)}{what_lacks(story)}"
    if cause == "lost_support":
        return (unlike(story) or CAUSES[cause]) + what_lacks(story)
    return CAUSES[cause] + what_lacks(story)


def rules_section(story: Story) -> Section:
    """The rules that fired, and what the most probable class would have without each of them."""
    rules = _tree_rules(story)
    if not rules:
        return Section("Rules that fired", ("None: no rule covers the row.",))
    # A rule without which the shown probability stays says nothing in a line of its own.
    shown = [rule for rule in rules[:MAX_RULES] if len(set(_shares(rule, story))) == 2] or rules[:1]
    lines = [_rule_line(rule, story) for rule in shown]
    if n_more := len(rules) - len(shown):
        lines.append(f"... and {n_more} more, which {'matters' if n_more == 1 else 'matter'} less.")
    if any("±" in rule.conditions for rule in shown):
        lines.append("A condition such as < 5 ±1 fits fully up to 4 and not at all from 6 on.")
    return Section("Rules that fired", tuple(lines))


def _rule_line(rule: TreeRule, story: Story) -> str:
    name = "A beginning of rules" if rule.number is None else f"Rule {rule.number}"
    condition = f"if {rule.conditions}" if rule.conditions else "always"
    says = f"{spoken(rule.label)} with confidence {share_text(rule.confidence)}"
    then, now = _shares(rule, story)
    change = f"would have {then} instead of {now}" if then != now else f"would still have {now}"
    return (
        f"{name} fires by {share_text(rule.firing)}: {condition}, then {says}. Without it "
        f"{spoken(story.classes[story.best])} {change}."
    )


def _shares(rule: TreeRule, story: Story) -> tuple[str, str]:
    """The probability of the most probable class without a rule, and with it."""
    return f"{100 * rule.probability_without[story.best]:.1f} %", f"{100 * story.probability[story.best]:.1f} %"
