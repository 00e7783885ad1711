"""Write the pictures of docs/guide/report.md: the report in Chromium, light and dark, and on a phone.

The table of loans is made up: numbers and categories, one application in five denied. Needs selenium, and Debian's
packages chromium and chromium-driver: ``python examples/report_screenshots.py docs/pictures``
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver

from ferl import FERLClassifier
from ferl.report import write_report

# Name, colours of the system, width, height, the section at the top of the picture, and the row of the what-if form.
PICTURES = [
    ("report_light", "light", 1400, 1560, "summary", 29),
    ("report_dark", "dark", 1400, 1560, "what-if", 29),
    ("report_narrow", "light", 400, 1560, "summary", 29),
    ("report_narrow_dark", "dark", 400, 1560, "what-if", 29),
]


def loan_table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Applications for a loan, and whether they were denied: a bad record, much debt and little income say so."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(19, 75, n_rows),
            "income": rng.lognormal(10.4, 0.45, n_rows).round(-2),
            "debt ratio": rng.beta(3, 6, n_rows).round(3),
            "years employed": rng.gamma(1.6, 4.0, n_rows).round(),
            "record": rng.choice(["clean", "late", "default"], n_rows, p=[0.72, 0.2, 0.08]),
            "housing": rng.choice(["own", "rent", "free"], n_rows, p=[0.55, 0.37, 0.08]),
            "purpose": rng.choice(["car", "education", "furniture", "business"], n_rows, p=[0.4, 0.15, 0.3, 0.15]),
            "sex": rng.choice(["female", "male"], n_rows),
        }
    )
    score = 9.0 * (frame["debt ratio"] - 0.33) - 1.8 * np.log(frame["income"] / 33_000)
    score += frame["record"].map({"clean": 0.0, "late": 1.6, "default": 4.0})
    score += 1.2 * (frame["housing"] == "rent") * (frame["age"] < 30) - 0.12 * frame["years employed"].clip(upper=12)
    score += 1.0 * (frame["purpose"] == "business") + rng.logistic(size=n_rows)
    denied = np.where(score > np.quantile(score, 0.8), "denied", "granted")
    return frame.mask(rng.random(frame.shape) < 0.02), denied


def write_loans(path: Path) -> Path:
    """The report of rules that never read the applicants' sex, with a comparison by it."""
    X, y = loan_table(2000)
    read = X.drop(columns="sex")
    clf = FERLClassifier(random_state=0).fit(read[:1000], y[:1000])
    rows, labels = X[1000:], y[1000:]
    return write_report(clf, rows, labels, path, title="Loans", table="applications of May", groups="sex")


def main(folder: Path) -> None:
    """Make all pictures."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        with tempfile.TemporaryDirectory() as place:
            driver.get(write_loans(Path(place) / "loans.html").as_uri())
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
