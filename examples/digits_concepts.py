"""Digits by their strokes: real images, twelve named concepts, rules a child can read, and a digit nobody showed it.

Run: python examples/digits_concepts.py. It needs no network, no download and no torch.
"""

import numpy as np
from sklearn.model_selection import train_test_split

from ferl import FERLClassifier, NoveltyDetector, export_text
from ferl.concepts import ConceptBottleneckFERL, concept_words, load_digit_strokes
from ferl.metrics import novelty_auroc

LEFT_OUT = 8  # two loops, one above the other: no other digit has both

digits = load_digit_strokes()
train, test = train_test_split(np.arange(len(digits.y)), test_size=0.3, stratify=digits.y, random_state=0)
train = train[digits.y[train] != LEFT_OUT]
X_test, y_test = digits.X[test], digits.y[test]
is_novel = y_test == LEFT_OUT

# The detector: a logistic regression for each stroke, on the pixels. The head: rules in the words absent and present.
in_words = FERLClassifier(words=concept_words(digits.concept_names), max_rules=15, min_rule_worth=0.05)
model = ConceptBottleneckFERL(
    head=in_words, class_concepts=digits.class_concepts, concept_names=digits.concept_names, random_state=0
)
model.fit(digits.X[train], digits.y[train])
print(f"{model.head_.n_rules_} rules, {model.score(X_test[~is_novel], y_test[~is_novel]):.1%} of the test digits right")
print(export_text(model.head_))

# A person looks at an image that was read wrongly, and corrects the stroke that the story names.
wrong = np.flatnonzero((model.predict(X_test) != y_test) & ~is_novel)
for place in wrong:
    row, truth = X_test[place : place + 1], y_test[place]
    story = model.explain(row)
    best = story.corrections[0]
    true_value = digits.class_concepts[truth][digits.concept_names.index(best.concept)]
    if model.predict(row, known={best.concept: true_value})[0] == truth:
        print(f"\nA {truth} was read as {story.label}. {story.summary}")
        print(f"Told that {best.concept!r} is {true_value}: {model.predict(row, known={best.concept: true_value})[0]}")
        break

# How many wrong answers does one such correction repair?
n_repaired = 0
for place in wrong:
    row, truth = X_test[place : place + 1], y_test[place]
    name = model.explain(row).corrections[0].concept
    value = digits.class_concepts[truth][digits.concept_names.index(name)]
    n_repaired += int(model.predict(row, known={name: value})[0] == truth)
print(f"One correction, the one the story names first, repairs {n_repaired} of {len(wrong)} wrong answers")

# Eights were never shown. Their strokes are unlike the strokes of any training digit.
novelty = model.novelty(X_test)
print(f"\nAUROC of the eights by novelty: {novelty_auroc(is_novel, novelty):.2f}")
watch = NoveltyDetector(alpha=0.05, random_state=0).fit(model.training_concepts_, digits.y[train])
alarms = watch.predict(model.predict_concepts(X_test)) == -1
print(f"Called novel, with 5 % false alarms: {alarms[is_novel].mean():.0%} of the eights,", end=" ")
print(f"{alarms[~is_novel].mean():.0%} of the others")
parts = model.novelty_attribution(X_test[is_novel])
names, counts = np.unique(np.array(digits.concept_names)[parts.argmax(axis=1)], return_counts=True)
for place in np.argsort(-counts)[:3]:
    print(f"  most anomalous in {counts[place]} of {is_novel.sum()} eights: {names[place]}")
strangest = test[is_novel][novelty[is_novel].argmax()]
print(model.explain(digits.X[strangest : strangest + 1]).to_text())
