"""Small tools that do not depend on models."""
