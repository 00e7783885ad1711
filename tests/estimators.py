"""One door to all kinds of models, for tests that hold for every one of them."""

from ferl import FERLClassifier, FERLTreeClassifier

TREES = ("deep", "medium", "compact")
KINDS = ("rules", "words", *TREES)


def classifier(kind, **parameters):
    """An unfitted classifier of a kind: "rules", "words" (few rules, in words), or a variant of the paper's trees."""
    if kind in TREES:
        return FERLTreeClassifier(kind, **parameters)
    return FERLClassifier(**({"words": True} if kind == "words" else {}) | parameters)
