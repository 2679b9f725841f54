"""The variables of single sign-on, and of who gets in without it."""

from typing import Annotated, Self

from django.core.exceptions import ImproperlyConfigured
from pydantic import model_validator
from pydantic_settings import BaseSettings

from faber_site.configuration import values
from faber_site.configuration.values import told


class Entrance(BaseSettings):
    """A provider is set up whole or not at all."""

    oidc_issuer: Annotated[
        values.Issuer,
        told(
            "the address of an OpenID Connect provider, as its tokens name it; see"
            " [Signing in](sign-in.md)",
            default="none: no single sign-on",
        ),
    ] = ""
    oidc_client_id: Annotated[str, told("what the provider calls this site")] = ""
    oidc_client_secret: Annotated[str, told("the secret it gave")] = ""
    oidc_name: Annotated[str, told("what the provider is called on pages, such as `Okta`")] = (
        "single sign-on"
    )
    oidc_roles: Annotated[
        values.GroupRoles,
        told(
            "roles for the provider's groups, such as `leads=operator,devs=reviewer`; the highest"
            " counts, at every sign-in",
            default="none: roles are given here",
        ),
    ] = ()
    oidc_groups_claim: Annotated[str, told("the claim that lists somebody's groups")] = "groups"
    oidc_create_accounts: Annotated[
        values.Flag | None,
        told(
            "whether the first sign-in makes an account",
            default="on with `FABER_OIDC_ROLES`, else off",
        ),
    ] = None
    local_sign_in: Annotated[
        values.Flag,
        told("`off`: no passwords; only single sign-on and links of `faber login-link` sign in"),
    ] = True

    @property
    def creates_accounts(self) -> bool:
        """Without groups everybody whom the provider knows would have one."""
        asked = self.oidc_create_accounts
        return bool(self.oidc_roles) if asked is None else asked

    @model_validator(mode="after")
    def _check_provider(self) -> Self:
        given = {
            "FABER_OIDC_ISSUER": self.oidc_issuer,
            "FABER_OIDC_CLIENT_ID": self.oidc_client_id,
            "FABER_OIDC_CLIENT_SECRET": self.oidc_client_secret,
        }
        missing = [name for name, value in given.items() if not value]
        if missing and len(missing) < len(given):
            raise ImproperlyConfigured(f"Single sign-on also needs {' and '.join(missing)}.")
        if missing and not self.local_sign_in:
            raise ImproperlyConfigured(
                "FABER_LOCAL_SIGN_IN=off is not accepted without FABER_OIDC_ISSUER:"
                " nobody could sign in."
            )
        return self
