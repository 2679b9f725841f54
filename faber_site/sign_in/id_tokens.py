"""Reads what an OpenID Connect provider says of somebody, and believes what is signed for here."""

import hmac
from collections.abc import Mapping
from typing import Any

import jwt

# Never one with a shared secret: the keys that a provider publishes are everybody's.
_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
CLOCKS_APART = 60  # seconds

Claims = Mapping[str, Any]


class TokenRefused(Exception):
    """Why an id token opens nothing, for the log."""


def read(token: str, *, keys: Claims, issuer: str, client_id: str, nonce: str) -> Claims:
    """What a token says, when it is signed, for this site, still valid, and for this sign-in."""
    try:
        claims: Claims = jwt.decode(
            token,
            key=_key(token, keys),
            algorithms=_ALGORITHMS,
            issuer=issuer,
            audience=client_id,
            leeway=CLOCKS_APART,
            options={"require": _REQUIRED},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(f"the id token is not accepted: {error}") from error
    if not nonce or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise TokenRefused("the id token belongs to another sign-in (nonce)")
    if claims.get("azp", client_id) != client_id:
        raise TokenRefused("the id token was given to another client (azp)")
    return claims


def joined(claims: Claims, told: Claims) -> Claims:
    """With what the provider tells beside the token, as far as it is about the same person."""
    if told and told.get("sub") != claims["sub"]:
        raise TokenRefused("the provider's userinfo is about somebody else (sub)")
    return {**told, **claims}


def _key(token: str, keys: Claims) -> jwt.PyJWK:
    published = jwt.PyJWKSet.from_dict(dict(keys)).keys
    name = jwt.get_unverified_header(token).get("kid")
    fitting = [key for key in published if name is None or key.key_id == name]
    if len(fitting) != 1:
        raise TokenRefused(f"the provider publishes {len(fitting)} keys {name!r}")
    return fitting[0]
