"""The commands of ``ferl``; :mod:`ferl._cli.app` has their options."""

try:
    import rich  # noqa: F401
    import typer  # noqa: F401 - are they there
except ImportError as error:
    raise ImportError(f"The command line needs typer and rich ({error}): pip install typer rich.") from error
