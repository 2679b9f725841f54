"""A small OpenID Connect provider: discovery, codes with PKCE, RS256 tokens, userinfo."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "faber-site", "a secret of the provider"
_KEY, _OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))


class Provider:
    """Asks nobody: `person` is who signs in next, `faults` what its id token gets wrong."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}/realm"
        self.person: dict[str, Any] = {}
        self.told_beside: dict[str, Any] = {}
        self.faults: dict[str, Any] = {}
        self.signs_with = _KEY
        self.refuses = ""
        self.is_down = False
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: set[str] = set()

    def be(self, sub: str, name: str, *groups: str, **claims: Any) -> None:
        """Somebody else is at the provider from here on, and all is well there."""
        self.person = {"sub": sub, "preferred_username": name, "groups": groups, **claims}
        self.told_beside, self.faults = {}, {}
        self.signs_with, self.refuses, self.is_down = _KEY, "", False

    def sign_with_another_key(self) -> None:
        self.signs_with = _OTHER_KEY

    @property
    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }

    @property
    def keys(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(_KEY.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        told = {"state": asked["state"]}
        if self.refuses:
            return f"{asked['redirect_uri']}?{urlencode({**told, 'error': self.refuses})}"
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        assert "openid" in asked["scope"].split()
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({**told, 'code': code})}"

    def exchange(self, given: dict[str, str]) -> dict[str, Any] | None:
        """A code works once, for who has its verifier and this client's secret."""
        asked = self._codes.pop(given.get("code", ""), None)
        challenge = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        fits = asked and (
            asked["redirect_uri"] == given["redirect_uri"]
            and (given["client_id"], given["client_secret"]) == (CLIENT, SECRET)
            and asked["code_challenge"] == base64.urlsafe_b64encode(challenge).decode().rstrip("=")
        )
        if not asked or not fits:
            return None
        token = secrets.token_urlsafe(16)
        self._tokens.add(token)
        return {"access_token": token, "token_type": "Bearer", "id_token": self._id_token(asked)}

    def _id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked.get("nonce"),
            **self.person,
            **self.faults,
        }
        return jwt.encode(claims, self.signs_with, algorithm="RS256", headers={"kid": "one"})

    def userinfo(self, token: str) -> dict[str, Any] | None:
        known = {"sub": self.person["sub"], **self.told_beside}
        return known if token in self._tokens else None


@contextmanager
def running() -> Iterator[Provider]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Doors) as server:
        provider = Provider(server.server_address[1])
        server.provider = provider  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield provider
        server.shutdown()


class _Doors(BaseHTTPRequestHandler):
    @property
    def provider(self) -> Provider:
        found: Provider = self.server.provider  # type: ignore[attr-defined]
        return found

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        match address.path.removeprefix("/realm"):
            case "/.well-known/openid-configuration":
                self._say(None if self.provider.is_down else self.provider.discovery, 503)
            case "/authorize":
                self.send_response(302)
                self.send_header("Location", self.provider.authorize(asked))
                self.send_header("Content-Length", "0")
                self.end_headers()
            case "/keys":
                self._say(self.provider.keys)
            case "/userinfo":
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                self._say(self.provider.userinfo(token), 401)
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        given = {name: values[0] for name, values in parse_qs(body).items()}
        self._say(self.provider.exchange(given), 400)

    def _say(self, document: dict[str, Any] | None, otherwise: int = 500) -> None:
        body = json.dumps(document or {"error": "invalid_grant"}).encode()
        self.send_response(200 if document else otherwise)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...
