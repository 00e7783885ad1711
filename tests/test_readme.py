"""The README's example runs as it stands."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_ten_line_example_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], str(README), "exec"), {})
    out = capsys.readouterr().out
    assert float(out.split()[0]) > 0.9
    assert "then benign" in out


def test_the_ten_line_example_needs_no_more_than_the_library_itself():
    assert "as_frame" not in README.read_text(encoding="utf-8")  # pandas is not a dependency


def test_the_two_commands_are_marked():
    text = README.read_text(encoding="utf-8")
    assert "<!-- fresh:run -->\n```bash\npip install . && ferl demo\n```" in text
    assert "<!-- fresh:test -->\n```bash\n" in text
