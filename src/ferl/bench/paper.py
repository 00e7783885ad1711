"""Figures of the paper that belong to no method of ours: its table of answers, whole."""

from __future__ import annotations

FRONTIER: dict[str, tuple[float, float]] = {
    "CART": (79.76, 19.89),
    "C4.5": (78.19, 18.07),
    "FIGS": (80.63, 15.22),
    "RRL": (77.95, 13.89),
    "RL-Net": (74.81, 20.80),
    "NeuRules": (79.27, 14.07),
    "SamRuLe": (70.53, 20.07),
    "FURIA": (78.51, 17.42),
    "FUCS": (78.59, 17.08),
    "NCC": (77.97, 12.07),
    "CDT": (76.60, 13.90),
    "CDT (C4.5)": (76.60, 13.90),
    "FERL-compact": (77.77, 17.33),
    "FERL-medium": (79.21, 12.72),
    "FERL-deep": (83.23, 9.21),
    "Logistic regression": (81.13, 10.59),
    "Random forest": (86.62, 6.26),
    "XGBoost": (85.58, 6.60),
    "EDL": (84.71, 7.30),
}
"""Accuracy and AURC, both times 100, of every method it compares."""

NOT_INTERPRETABLE = ("Random forest", "XGBoost", "EDL", "MLP(64)")
"""The methods it sets apart, and the network it uses for prediction sets only."""
