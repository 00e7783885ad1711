"""
Why this answer
===============

What the features of one row add to the log-odds, from the average training row to the answer. The bars add up exactly.
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
# The same answer as a range of support for each class: full up to the belief, pale up to the plausibility.
ax = plot_evidence(clf, doubtful.to_frame().T)

# %%
# And in words.
print(clf.explain(doubtful).summary)
