"""Model files: a fitted classifier as versioned JSON, exact to the last bit and safe to read from anyone.

``docs/model_file.md`` describes the format.
"""

from ferl.model_io.fields import ModelFileError
from ferl.model_io.files import load_model, save_model

__all__ = ["ModelFileError", "load_model", "save_model"]
