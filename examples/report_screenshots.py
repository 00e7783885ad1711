"""Write the pictures of docs/report.md: the report of the iris flowers in Chromium, light, dark, and on a phone.

Needs selenium, and Debian's packages chromium and chromium-driver: ``python examples/report_screenshots.py docs``
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

from ferl._cli.demo import demo_report

# Name, colours of the system, width, height, and the section at the top of the picture.
PICTURES = [
    ("report_light", "light", 1180, 1500, "summary"),
    ("report_dark", "dark", 1180, 1000, "what-if"),
    ("report_narrow", "light", 375, 1500, "what-if"),
]

DOUBTFUL = [6.0, 2.9, 4.85, 1.62]  # a flower between two kinds


def main(folder: Path) -> None:
    """Make all pictures."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        with tempfile.TemporaryDirectory() as place:
            driver.get(demo_report("iris", Path(place) / "iris.html", "medium").as_uri())
            for name, colours, width, height, section in PICTURES:
                picture = taken(driver, colours, width, height, section)
                (folder / f"{name}.png").write_bytes(picture)
                print(f"{folder / name}.png: {len(picture) / 1000:.0f} kB")
    finally:
        driver.quit()


def taken(driver: webdriver.Chrome, colours: str, width: int, height: int, section: str) -> bytes:
    """A picture of a window of this size."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.execute_script("ferlPage.load(arguments[0])", DOUBTFUL)
    driver.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        "const top = document.getElementById(arguments[0]);"
        "arguments[0] === 'summary' ? scrollTo(0, 0) : top.scrollIntoView();",
        section,
    )
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return base64.b64decode(picture["data"])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
