"""Where the system's Chromium is, and how it is started without a screen."""

import os
import shutil

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The one without a window first: it takes two thirds of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    found = (shutil.which(name) for name in NAMES)
    return os.environ.get("FABER_CHROMIUM") or next(filter(None, found), None)
