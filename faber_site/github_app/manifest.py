"""What the App is asked to be, and what GitHub hands back for a code."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.urls import reverse

from faber_site.configuration.values import is_loopback
from faber_site.sign_in.providers import github_address
from runs.domain.values.errors import Refused
from runs.github.kept_app import KeptApp
from runs.github.values import Credentials
from runs.trackers import NotThere
from runs.trackers.errors import TrackerError

PERMISSIONS = {
    "issues": "write",
    "metadata": "read",
    "pull_requests": "read",  # with the statuses: the check on the pull request
    "statuses": "write",
}
EVENTS = ("issue_comment", "issues")
_LONGEST_NAME = 34  # GitHub's


def manifest() -> dict[str, object]:
    site = settings.FABER_BASE_URL
    known: dict[str, object] = {
        "name": f"FABER {urlsplit(site).hostname}"[:_LONGEST_NAME],
        "url": site,
        "description": "Posts requests of FABER on issues and reads the answers.",
        "redirect_url": site + reverse("github-setup-callback"),
        "setup_url": site + reverse("github-setup"),
        "public": False,
        "default_permissions": PERMISSIONS,
    }
    if not has_webhook():
        return known
    hook = {"url": site + reverse("github-webhook"), "active": True}
    return {**known, "hook_attributes": hook, "default_events": list(EVENTS)}


def has_webhook() -> bool:
    """GitHub refuses an App whose webhook leads to the machine it would be called from."""
    return not is_loopback(urlsplit(settings.FABER_BASE_URL).hostname or "")


def website() -> str:
    return github_address(settings.FABER_GITHUB_API_URL)


def form_address(organization: str, state: str) -> str:
    """Where the manifest is sent by the browser of the person who will own the App."""
    owner = f"/organizations/{quote(organization, safe='')}" if organization else ""
    return f"{website()}{owner}/settings/apps/new?state={quote(state, safe='')}"


def convert(code: str) -> KeptApp:
    """Exchange the code, which works once and within an hour."""
    # PyGithub takes a second to import: only who gets here pays for it.
    from runs.github.transport import Transport  # noqa: PLC0415

    transport = Transport(Credentials(api_url=settings.FABER_GITHUB_API_URL))
    try:
        answer = transport.ask("POST", f"/app-manifests/{quote(code, safe='')}/conversions")
        return answer.read(_app)
    except NotThere:
        raise Refused(
            "GitHub does not know this code. A code works once and for one hour: start again."
        ) from None
    except TrackerError as error:
        # The code is still worth something.
        said = str(error).replace(quote(code, safe=""), "…")
        raise Refused(f"{said} The App was not saved. Start again.") from None
    finally:
        transport.close()


def _app(data: Mapping[str, Any]) -> KeptApp:
    return KeptApp(
        api_url=settings.FABER_GITHUB_API_URL,
        app_id=str(int(data["id"])),
        slug=str(data["slug"]),
        url=str(data["html_url"]),
        key=str(data["pem"]),
        webhook_secret=str(data.get("webhook_secret") or ""),
    )
