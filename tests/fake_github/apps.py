"""Apps made from a manifest: somebody agrees at once, and a code is exchanged once."""

import functools
import json
import secrets
from urllib.parse import parse_qs, urlencode

from tests.fake_github.replies import NOT_FOUND, Reply, Request
from tests.fake_github.state import SECRET, State

APP_ID = 4711


def answer(state: State, request: Request, url: str) -> Reply | None:
    """Nothing for a request that is about something else."""
    if request.method == "POST" and request.path.endswith("/settings/apps/new"):
        return _agreed(state, request)
    if request.path.startswith("/app-manifests/"):
        return _converted(state, request.path.split("/")[2], url)
    return None


def _agreed(state: State, request: Request) -> Reply:
    asked = json.loads(parse_qs(request.body.decode())["manifest"][0])
    code = secrets.token_hex(20)
    state.manifests[code] = {**asked, "form": request.path}
    query = urlencode({"code": code, "state": request.query["state"]})
    return Reply(status=302, headers={"Location": f"{asked['redirect_url']}?{query}"})


def _converted(state: State, code: str, url: str) -> Reply:
    asked = state.manifests.pop(code, None)
    if asked is None:
        return NOT_FOUND
    private, state.app_public_key = keys()
    state.app_id = str(APP_ID)
    state.made_from = asked
    made = {
        "id": APP_ID,
        "slug": state.app_slug,
        "name": asked["name"],
        "html_url": f"{url}/apps/{state.app_slug}",
        "pem": private,
        "webhook_secret": SECRET if "hook_attributes" in asked else None,
        "client_id": "Iv1.1",
        "client_secret": "not-used",
    }
    return Reply(status=201, data=made)


@functools.cache
def keys() -> tuple[str, str]:
    """An App's private key and the public one; made once, since that takes a while."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.TraditionalOpenSSL, form.NoEncryption()
    )
    public = private.public_key().public_bytes(
        form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
    )
    return pem.decode(), public.decode()
