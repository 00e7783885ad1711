from __future__ import annotations

from tabarena.models.ferl.hpo import gen_ferl
from tabarena.models.ferl.info import ferl_info, ferl_method_metadata

__all__ = ["ferl_info", "ferl_method_metadata", "gen_ferl"]
