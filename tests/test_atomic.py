"""Files that are replaced as a whole, and what is never replaced."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from ferl._util.files import replace_text


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes differ")
def test_what_is_no_regular_file_is_refused_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, tmp_path):
        with pytest.raises(OSError, match="not a regular file, so it cannot be replaced by one"):
            replace_text(place, "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    replace_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "new"
