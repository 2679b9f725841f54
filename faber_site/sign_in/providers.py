"""Who vouches for people, as settings: only what django-allauth needs for it, and only then."""

GITHUB, OIDC = "github", "oidc"

_APPS = {
    GITHUB: "allauth.socialaccount.providers.github",
    OIDC: "allauth.socialaccount.providers.openid_connect",
}
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]


def apps(*used: str) -> list[str]:
    return ["allauth", "allauth.account", "allauth.socialaccount", *(_APPS[name] for name in used)]


def github_address(api_url: str) -> str:
    """Where people are, for the API that programs use."""
    if api_url == "https://api.github.com":
        return "https://github.com"
    return api_url.removesuffix("/api/v3")


def github(web_url: str, client_id: str, secret: str) -> dict[str, object]:
    known: dict[str, object] = {
        "SCOPE": [],  # who somebody is; nothing of theirs
        "APPS": [{"client_id": client_id, "secret": secret, "key": ""}],
    }
    # Only an Enterprise Server has an address; GitHub's own two belong to different hosts.
    return known if web_url == "https://github.com" else {**known, "GITHUB_URL": web_url}


def openid_connect(issuer: str, client_id: str, secret: str, name: str) -> dict[str, object]:
    return {
        "APPS": [
            {
                "provider_id": OIDC,
                "name": name,
                "client_id": client_id,
                "secret": secret,
                "settings": {"server_url": issuer, "oauth_pkce_enabled": True},
            }
        ]
    }
