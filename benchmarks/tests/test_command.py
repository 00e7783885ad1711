"""The command `ferl bench`, as the library's command line finds it."""

import subprocess
import sys

from typer.testing import CliRunner

from ferl._cli.app import app
from ferl_bench.table import all_tables


def test_the_command_line_of_the_library_finds_the_benchmark() -> None:
    done = CliRunner().invoke(app, ["bench", "--list"])
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in all_tables())


def test_its_help_is_of_the_benchmark_and_its_mistakes_have_an_exit_code() -> None:
    shown = CliRunner().invoke(app, ["bench", "--help"])
    assert shown.exit_code == 0
    assert "Usage: ferl bench [OPTIONS]" in shown.output
    refused = CliRunner().invoke(app, ["bench", "nothing"])
    assert refused.exit_code == 2
    assert "unknown table nothing" in refused.stderr


def test_other_commands_do_not_import_the_benchmark() -> None:
    for arguments in (["--help"], ["demo", "--help"], ["--version"]):
        program = (
            f"import sys; from ferl._cli.app import app; app({arguments}, standalone_mode=False)\n"
            "assert not any(name.startswith('ferl_bench') for name in sys.modules)"
        )
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
