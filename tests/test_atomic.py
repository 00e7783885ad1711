"""Files that are replaced as a whole, and what is never replaced."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from ferl._util.files import replace_text, replacing


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes differ")
def test_what_is_no_regular_file_is_refused_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, tmp_path):
        with pytest.raises(OSError, match="not a regular file, so it cannot be replaced by one"):
            replace_text(place, "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_folder_that_does_not_exist_is_named_and_not_the_temporary_file(tmp_path):
    path = tmp_path / "models" / "model.json"
    with pytest.raises(FileNotFoundError, match=r"its folder does not exist: '.*models/model\.json'"), replacing(path):
        pass
    assert not path.parent.exists()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    replace_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o604])
def test_a_replaced_file_keeps_its_mode_and_is_never_more_open(tmp_path, mode):
    path = tmp_path / "model.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    with replacing(path) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_text("new", encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_a_new_file_has_the_mode_that_the_system_gives(tmp_path):
    (tmp_path / "plain").touch()
    replace_text(tmp_path / "model.json", "new")
    assert (tmp_path / "model.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="only the administrator gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "model.json"
    path.touch()
    os.chown(path, 12_345, 23_456)
    replace_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12_345, 23_456)


@pytest.mark.parametrize("letter", ["x", "é"])
def test_names_of_the_greatest_length_work(tmp_path, letter):
    n_bytes = len(letter.encode())
    path = tmp_path / (letter * (255 // n_bytes) + "x" * (255 % n_bytes))
    assert len(path.name.encode()) == 255
    replace_text(path, "new")
    replace_text(path, "newer")
    assert path.read_text(encoding="utf-8") == "newer"
    with pytest.raises(OSError, match="name too long"):
        replace_text(tmp_path / ("x" * 256), "new")
    assert len(os.listdir(tmp_path)) == 1


_WRITES_FOR_EVER = """
import signal, sys, time
from ferl._util.files import replacing
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):  # a parent such as nohup may have ignored them
    signal.signal(number, signal.SIG_DFL if sys.argv[2] == "none" else lambda number, frame: sys.exit(7))
with replacing(sys.argv[1]) as beside:
    beside.write_text("half")
    print("writing", flush=True)
    while True:
        time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT"])
@pytest.mark.parametrize("handler", ["none", "own"])
def test_termination_leaves_the_old_file_alone(tmp_path, handler, name):
    number = getattr(signal, name)
    path = tmp_path / "model.json"
    path.write_text("old", encoding="utf-8")
    command = [sys.executable, "-c", _WRITES_FOR_EVER, str(path), handler]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "writing\n"
        assert len(os.listdir(tmp_path)) == 2
        program.send_signal(number)
        assert program.wait(timeout=60) == (7 if handler == "own" else -number)
    assert os.listdir(tmp_path) == ["model.json"]
    assert path.read_text(encoding="utf-8") == "old"


def test_signals_are_handled_as_before_after_a_file_was_written(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    replace_text(tmp_path / "one", "text")
    thread = threading.Thread(target=replace_text, args=(tmp_path / "two", "text"))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == before
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]
