"""Signing in with GitHub, as settings: only what django-allauth needs for it, and only then."""

APPS = [
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
]
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]
BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]


def web_address(api_url: str) -> str:
    """Where people are, for the API that programs use."""
    if api_url == "https://api.github.com":
        return "https://github.com"
    return api_url.removesuffix("/api/v3")


def provider(web_url: str, client_id: str, secret: str) -> dict[str, object]:
    known: dict[str, object] = {
        "SCOPE": [],  # who somebody is; nothing of theirs
        "APPS": [{"client_id": client_id, "secret": secret, "key": ""}],
    }
    # Only an Enterprise Server has an address; GitHub's own two belong to different hosts.
    return known if web_url == "https://github.com" else {**known, "GITHUB_URL": web_url}
