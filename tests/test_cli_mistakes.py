"""Mistakes in files and paths: one line with the remedy, and no file that is half written or lost."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from cli_examples import ferl, refused, write_table
from cli_people import folder, people

__all__ = ["folder"]  # a fixture


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "table.csv has no column 'age', which the model reads"),
        ({"age": None, "Age": ["1"] * 5}, "Did you mean 'Age'?"),
        ({"x": ["1", "2", "n/k", "4", "5"]}, "Column 'x' holds 'n/k', which is not a number"),
        ({"x": ["1", "inf", "3", "4", "5"]}, "Column 'x' holds infinity"),
    ],
)
def test_mistakes_in_tables_are_one_line_with_the_remedy(tmp_path, folder, change, message):
    table = {**{name: own for name, own in people(5, 1).items() if name != "y"}, **change}
    path = write_table(tmp_path / "table.csv", {name: own for name, own in table.items() if own is not None})
    result = ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv", code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["table.csv"]
    if "n/k" in message:
        ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv", "--missing", "n/k")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv is empty"),
        (b"\n\n", "It needs a header and rows."),
        (b"age,city,code,x\n1,2\n", "Expected 4 columns, got 2: 1,2. Check the separator"),
        (b"age,age,city,code,x\n1,1,2,3,4\n", "several columns called 'age'"),
        (b"age,city,code,x\n1,\xff\xfe,101,3\n", "Save it as UTF-8"),
        ("age,city,code,x\n1,2,3,4\n".encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8 table.csv"),
        (b"age,city,code,x\n1,\x1b[31m2\n", "[31m2. Check the separator"),
        (b"PAR1 no\n", "has no column 'age'"),
    ],
)
def test_odd_files_are_one_line(tmp_path, folder, content, message):
    (tmp_path / "table.csv").write_bytes(content)
    result = ferl("predict", folder / "model.json", tmp_path / "table.csv", "-o", tmp_path / "out.csv", code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr
    assert os.listdir(tmp_path) == ["table.csv"]


def test_mistakes_in_paths_are_one_line(tmp_path, folder):
    model, new = folder / "model.json", folder / "new.csv"
    for arguments, message in [
        (("predict", model, new, "-o", tmp_path / "out.xls"), "ends in none of .csv, .parquet"),
        (("predict", model, tmp_path / "no.csv", "-o", "-"), "no.csv is no file"),
        (("predict", tmp_path / "no.json", new, "-o", "-"), "no.json: No such file or directory. Check the path."),
        (("predict", tmp_path, new, "-o", "-"), "Is a directory. Name a file in it."),
        (("predict", model, new, "-o", "-", "--jobs", "0"), "n_jobs is 0"),
        (("predict", new, new, "-o", "-"), "new.csv: it is not JSON"),
        (("predict", model, new, "-o", tmp_path / "no" / "out.csv"), "does not exist; create it"),
        (("fit", folder / "train.csv", "--target", "y", "-o", tmp_path / "no" / "m.json"), "does not exist; create it"),
        (("inspect", new), "new.csv: it is not JSON"),
    ]:
        result = ferl(*arguments, code=2)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    odd = tmp_path / "no.parquet"
    odd.write_bytes(b"x")
    assert "no.parquet cannot be read" in ferl("predict", model, odd, "-o", "-", code=2).stderr
    debugged = ferl("inspect", new, "--debug", code=1)
    assert type(debugged.exception).__name__ == "ModelFileError"


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes differ")
@pytest.mark.parametrize(
    "command",
    [
        ("predict", "model.json", "new.csv", "--json"),
        ("predict", "model.json", "new.csv", "--decision", "costs.csv"),
        ("predict", "model.json", "new.csv", "--calibration", "calibration.json"),
        ("calibrate", "model.json", "new.csv", "--decision", "costs.csv"),
        ("report", "model.json", "new.csv"),
        ("report", "model.json", "new.csv", "--decision", "costs.csv"),
        ("fit", "train.csv", "--target", "y"),
        ("fit", "train.csv", "--target", "y", "--describe", "table.yaml"),
        ("explain", "model.json", "new.csv", "--row", "1", "--decision", "costs.csv", "--html"),
        ("export", "model.json"),
        ("demo",),
    ],
)
def test_a_place_that_would_cost_a_file_is_refused_before_any_work(tmp_path, folder, command):
    for name in ("model.json", "new.csv", "train.csv"):
        shutil.copy(folder / name, tmp_path / name)
    for name in ("costs.csv", "table.yaml", "calibration.json"):
        (tmp_path / name).write_text("not opened")
    os.mkfifo(tmp_path / "pipe")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    where = {"explain": (), "demo": ("--report",)}.get(command[0], ("-o",))
    arguments = [tmp_path / own if own in before else own for own in command]
    places = [(name, "would replace the file that is read") for name in command if name in before]
    places += [(".", "is a folder. Name a file in it."), ("pipe", "is no regular file")]
    for place, message in places:
        result = ferl(*arguments, *where, tmp_path / place, code=2)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--words", "--set", "words=false"), "--words and --set words=false contradict each other. Leave one out."),
        (("--model", "deep", "--words", "--set", "words=null"), "--words and --set words=null contradict"),
        (("--set", 'class_weight={"sick": -2}'), "class_weight['sick'] is -2; class weights must be finite and not"),
        (("--model", "deep", "--set", 'class_weight={"sick": "many"}'), "class_weight['sick'] is 'many'"),
        (("--set", "words=guess"), "words is 'guess'; it must be 'quantile'"),
    ],
)
def test_a_wrong_parameter_is_refused_before_the_table_is_read(tmp_path, options, message):
    # The table is not even there, which a command that opened it would report.
    missing = tmp_path / "missing.csv"
    assert message in refused("fit", missing, "--target", "sick", "-o", tmp_path / "model.json", *options)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path, folder, monkeypatch):
    # Not by the folder's mode: root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(tmp_path) != str(path))
    result = ferl("predict", folder / "model.json", folder / "new.csv", "-o", tmp_path / "out.csv", code=2)
    assert "You may not write into the folder" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_an_interrupt_leaves_no_file_behind(tmp_path, folder):
    table = {name: own * 2000 for name, own in people(50, 1).items() if name != "y"}
    path = write_table(tmp_path / "table.csv", table)
    # A first batch that takes long to write, so that the signal comes while the file is half written.
    program = (
        "import signal, time; from ferl._tables import table_files; Sink = table_files.Sink\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in the background
        "def slow(prepare, write):\n"
        "    return Sink(prepare, lambda own: (write(own), print('judging', flush=True), time.sleep(60)))\n"
        "table_files.Sink = slow\n"
        "from ferl._cli.app import app; app()"
    )
    arguments = ["predict", str(folder / "model.json"), str(path), "-o", str(tmp_path / "out.csv")]
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "judging\n"
        time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert errors.strip() == "Stopped. No answers were written."
    assert os.listdir(tmp_path) == ["table.csv"]
