"""Write the pictures of README.md and docs/guide/report.md: the report in Chromium, light and dark, and on a phone.

The report is the one of ``ferl demo``, on the passengers of the Titanic. Needs selenium, and Debian's packages chromium
and chromium-driver: ``python examples/report_screenshots.py docs/pictures``
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

from ferl._cli.demo import demo_report

# Name, colours of the system, width, height, the section at the top of the picture, and the row of the what-if form.
PICTURES = [
    ("report_readme", "light", 1240, 670, "row-choice", 5),
    ("report_light", "light", 1400, 1560, "summary", 3),
    ("report_dark", "dark", 1400, 1560, "what-if", 3),
    ("report_narrow", "light", 400, 1560, "summary", 3),
    ("report_narrow_dark", "dark", 400, 1560, "what-if", 3),
]


def main(folder: Path) -> None:
    """Make all pictures."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        with tempfile.TemporaryDirectory() as place:
            driver.get(demo_report("titanic", Path(place) / "titanic.html").as_uri())
            for name, *view in PICTURES:
                picture = taken(driver, *view)
                (folder / f"{name}.png").write_bytes(picture)
                print(f"{folder / name}.png: {len(picture) / 1000:.0f} kB")
    finally:
        driver.quit()


def taken(driver: webdriver.Chrome, colours: str, width: int, height: int, section: str, row: int) -> bytes:
    """A picture of a window of this size."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        "const menu = document.getElementById('row-choice');"
        "menu.value = arguments[1]; menu.dispatchEvent(new Event('change'));"
        "const top = document.getElementById(arguments[0]);"
        "arguments[0] === 'summary' ? scrollTo(0, 0) : top.scrollIntoView();",
        section,
        row,
    )
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return base64.b64decode(picture["data"])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
