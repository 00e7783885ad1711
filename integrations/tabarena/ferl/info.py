"""The entry of ferl in the list of methods."""

from __future__ import annotations

from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo
from tabarena.models.ferl.hpo import gen_ferl
from tabarena.models.ferl.model import FERLModel

# No run of TabArena yet: no suite, no stored results.
ferl_method_metadata = MethodMetadata.config(
    method="FERL",
    display_name="FERL",
    ag_key="FERL",
    config_default="FERL_c1_default_BAG_L1",
    compute="cpu",
    is_bag=True,
    can_hpo=True,
    date="2026-11-18",
    reference_url="https://pypi.org/project/ferl/",
    verified=False,
)

ferl_info = ModelInfo(
    model_cls=FERLModel,
    search_space=gen_ferl,
    method_metadata=ferl_method_metadata,
    pip_extra=("ferl>=0.1.0",),
)
