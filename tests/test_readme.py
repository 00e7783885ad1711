"""The README: short, with the two commands that a fresh machine runs. Its code runs in tests/test_pages.py."""

from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_ten_line_example_needs_no_more_than_the_library_itself() -> None:
    assert "as_frame" not in README  # pandas is not a dependency


def test_the_two_commands_are_marked() -> None:
    assert "<!-- fresh:run -->\n```bash\npip install . && ferl demo\n```" in README
    assert '<!-- fresh:test -->\n```bash\npip install ".[test]" && python -m pytest -n 2\n```' in README


def test_it_can_be_read_in_a_minute_or_two() -> None:
    assert README.count("\n") < 150
