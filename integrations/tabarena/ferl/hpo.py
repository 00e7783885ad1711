"""The search space of ferl's rules: size, form and amount of search; the default comes first.

It was written down from the package's documentation. No result of TabArena had a part in it.
"""

from __future__ import annotations

from autogluon.common.space import Categorical, Int, Real

from tabarena.models.ferl.model import FERLModel
from tabarena.utils.config_utils import ConfigGenerator

search_space = {
    "max_rules": Categorical(150, 50, 300, 600),
    "max_conditions": Int(1, 3, default=3),
    "max_maps": Categorical(25, 0, 10, 60),
    "prune": Real(1e-4, 1e-2, default=0.0015, log=True),
    "effort": Int(1, 6, default=1),
    "missing_conditions": Categorical(False, True),
}

gen_ferl = ConfigGenerator(model_cls=FERLModel, search_space=search_space, manual_configs=[{}])
