"""What a User-Agent is called among people."""

import pytest

from runs.pages.sign_in.browsers import spoken

_MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
_LINUX = "Mozilla/5.0 (X11; Linux x86_64"
_PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)"
_KIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (f"{_LINUX}; rv:143.0) Gecko/20100101 Firefox/143.0", "Firefox on Linux"),
        (f"{_WINDOWS} {_KIT} Chrome/141.0.0.0 Safari/537.36", "Chrome on Windows"),
        (f"{_WINDOWS} {_KIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0", "Edge on Windows"),
        (f"{_MAC} {_KIT} Chrome/141.0.0.0 Safari/537.36 OPR/122.0.0.0", "Opera on macOS"),
        (f"{_MAC} AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15", "Safari on macOS"),
        (f"{_PHONE} CriOS/141.0 Safari/604.1", "Chrome on iPhone"),
        (
            "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) FxiOS/143.0 Safari/605.1.15",
            "Firefox on iPad",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 15; K) {_KIT} Chrome/141.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        (f"Mozilla/5.0 (X11; CrOS x86_64) {_KIT} Chrome/141.0 Safari/537.36", "Chrome on ChromeOS"),
        (f"{_LINUX}) {_KIT} HeadlessChrome/141.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"{_LINUX})", "Unknown browser on Linux"),
        ("curl/8.15.0", "curl"),
        ("python-requests/2.32", "python-requests"),
        ("Evil<script>/1 " + "x" * 500, "Unknown browser"),
        ("x" * 500, "Unknown browser"),
        ("", "Unknown browser"),
    ],
)
def test_a_browser_is_called_by_its_name_and_its_system(agent: str, name: str) -> None:
    assert spoken(agent) == name
