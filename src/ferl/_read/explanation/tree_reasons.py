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
    "weak_firing": "no rule fires fully",
    "thin_support": "few training rows are behind the rules",
    "lost_support": "values lie outside what the rules saw in training",
    "conflict": "rules contradict each other",
}
"""What each part of the ignorance means."""


def reason(story: Story) -> str:
    """The rule that gives most, as a clause to follow the answer."""
    return f", because {story.rules[0].conditions}" if story.rules and story.rules[0].conditions else ""


def reason_for_doubt(story: Story) -> str:
    """Why the set has more than one class, in one clause."""
    if not story.rules:
        clause = unlike(story)
        return f"no rule fires{f' because {clause}' if clause else ''}{what_lacks(story)}"
    if story.ignorance < MUCH_IGNORANCE:
        ranked = sorted(zip(story.belief, story.classes, strict=True), key=lambda own: -own[0])[:2]
        return f"belief is divided, {listed([f'{share_text(bel)} for {spoken(own)}' for bel, own in ranked])}"
    cause = story.doubt.main
    if cause == "weak_firing":
        strongest = max(rule.firing for rule in story.rules)
        return f"no rule fires fully, the strongest by {share_text(strongest)}{what_lacks(story)}"
    if cause == "lost_support":
        return (unlike(story) or CAUSES[cause]) + what_lacks(story)
    return CAUSES[cause] + what_lacks(story)


def rules_section(story: Story) -> Section:
    """The rules that fired, and what each gives to the belief in the most probable class."""
    rules = [rule for rule in story.rules if isinstance(rule, TreeRule)]
    if not rules:
        return Section("Rules that fired", ("None: the row fits no rule.",))
    label = spoken(story.classes[story.best])
    lines = [_rule_line(rule, story, label) for rule in rules[:MAX_RULES]]
    hidden = rules[MAX_RULES:]
    if hidden:
        rest = sum(rule.belief[story.best] for rule in hidden)
        lines.append(f"... and {len(hidden)} more, which together give {rest:.3f} of the belief in {label}.")
    return Section("Rules that fired", tuple(lines))


def _rule_line(rule: TreeRule, story: Story, label: str) -> str:
    best = story.best
    name = "A beginning of rules" if rule.number is None else f"Rule {rule.number}"
    condition = f"if {rule.conditions}" if rule.conditions else "always"
    says = f"{spoken(rule.label)} with confidence {share_text(rule.confidence)}"
    gives = f"It gives {rule.belief[best]:.3f} of the belief {story.belief[best]:.3f} in {label}"
    return (
        f"{name} fires by {share_text(rule.firing)}: {condition}, then {says}. {gives}; without it that belief would "
        f"be {rule.belief_without[best]:.3f}."
    )
