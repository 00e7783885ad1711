"""The commands of ``ferl``; :mod:`ferl._cli.app` has their options."""
