"""
Why this tumour is malignant: the parts of one answer
=====================================================

The bars lead from the log-odds of the average training row to the log-odds of this row. Each bar is the part of one
feature, and the parts add up exactly.
"""

from sklearn.datasets import load_breast_cancer

from ferl import FERLClassifier
from ferl.plot import plot_contributions, plot_evidence

data = load_breast_cancer(as_frame=True)
clf = FERLClassifier(random_state=0).fit(data.data[::2], data.target_names[data.target][::2])
rows = data.data[1::2]
doubtful = rows.iloc[abs(clf.predict_proba(rows)[:, 1] - 0.75).argmin()]
ax = plot_contributions(clf, doubtful, max_features=8)

# %%
# Belief and plausibility of each class: a bar is full up to the belief and pale up to the plausibility.
ax = plot_evidence(clf, doubtful.to_frame().T)

# %%
# The same answer as a sentence.
print(clf.explain(doubtful).summary)
