"""Secrets as their makers write them, each put together from its beginning and a made-up rest."""

import random
import string
from collections.abc import Iterator

_HEX = "0123456789abcdef"
_MIXED = string.ascii_letters + string.digits
_URL = _MIXED + "_-"
_BASE64 = _MIXED + "+/"


def tail(length: int, letters: str = _MIXED) -> str:
    """A rest that looks made by chance, and is the same each time."""
    chosen = random.Random(f"{length}{letters}")  # noqa: S311 - nobody has to guess it
    return "".join(chosen.choice(letters) for _ in range(length - 1)) + "7"


def _code_hosts() -> Iterator[tuple[str, str]]:
    for letter in "pousr":
        yield f"GitHub gh{letter}", f"gh{letter}_{tail(36)}"
    yield "GitHub fine-grained", f"github_pat_{tail(22)}_{tail(59)}"
    for kind in ("pat", "dt", "ptt", "rt", "cbt", "ft", "ffct", "imt", "agent", "oas", "soat"):
        yield f"GitLab gl{kind}", f"gl{kind}-{tail(40, _URL)}"
    yield "GitLab runner", f"GR1348941{tail(20, _URL)}"
    yield "npm", f"npm_{tail(36)}"
    yield "PyPI", f"pypi-AgEIcHlwaS5vcmc{tail(80, _URL)}"
    yield "RubyGems", f"rubygems_{tail(48, _HEX)}"
    yield "Docker", f"dckr_pat_{tail(27, _URL)}"
    yield "Atlassian", f"ATATT3x{tail(180, _URL)}"
    yield "Bitbucket", f"ATBB{tail(32)}"


def _models() -> Iterator[tuple[str, str]]:
    yield "Anthropic", f"sk-ant-api03-{tail(93, _URL)}AA"
    yield "Anthropic admin", f"sk-ant-admin01-{tail(93, _URL)}AA"
    yield "OpenAI", f"sk-{tail(48)}"
    for kind in ("proj", "svcacct", "admin"):
        yield f"OpenAI {kind}", f"sk-{kind}-{tail(120, _URL)}"
    yield "HuggingFace", f"hf_{tail(34)}"
    yield "HuggingFace, letters only", f"hf_{''.join(sorted(set(string.ascii_letters)))[9:43]}"
    yield "Groq", f"gsk_{tail(52)}"
    yield "Replicate", f"r8_{tail(37)}"
    yield "xAI", f"xai-{tail(80)}"
    yield "Perplexity", f"pplx-{tail(48)}"


def _clouds() -> Iterator[tuple[str, str]]:
    capitals = string.ascii_uppercase + "234567"
    for kind in ("AKIA", "ASIA", "ABIA", "ACCA"):
        yield f"AWS {kind}", kind + tail(16, capitals)
    yield "Google key", f"AIza{tail(35, _URL)}"
    yield "Google login", f"ya29.{tail(60, _URL)}"
    yield "Google client", f"GOCSPX-{tail(28, _URL)}"
    yield "Azure client", f"{tail(3)}8Q~{tail(34, _URL)}"
    for kind in "opr":
        yield f"DigitalOcean do{kind}", f"do{kind}_v1_{tail(64, _HEX)}"
    yield "Databricks", f"dapi{tail(32, _HEX)}"
    yield "Doppler", f"dp.pt.{tail(43)}"
    yield "Fly", f"fo1_{tail(43, _URL)}"
    yield "Fly macaroon", f"fm2_{tail(120, _BASE64)}"
    yield "Heroku", f"HRKU-AA{tail(58, _URL)}"
    yield "Vault", f"hvs.{tail(95, _URL)}"
    yield "Vault batch", f"hvb.{tail(140, _URL)}"
    yield "Terraform", f"{tail(14)}.atlasv1.{tail(64, _URL)}"
    yield "Pulumi", f"pul-{tail(40, _HEX)}"
    yield "PlanetScale", f"pscale_tkn_{tail(43, _URL)}"
    yield "Supabase", f"sbp_{tail(40, _HEX)}"
    yield "Tailscale", f"tskey-auth-{tail(12)}-{tail(32)}"
    yield "age", f"AGE-SECRET-KEY-1{tail(58, capitals)}"


def _messages() -> Iterator[tuple[str, str]]:
    for kind in "abeoprs":
        yield f"Slack xox{kind}", f"xox{kind}-{tail(12, string.digits)}-{tail(24)}"
    yield "Slack app", f"xapp-1-A{tail(10)}-{tail(13, string.digits)}-{tail(40, _HEX)}"
    yield "Slack webhook", f"https://hooks.slack.com/services/T{tail(9)}/B{tail(9)}/{tail(24)}"
    yield "Discord", f"MT{tail(22)}.{tail(6)}.{tail(38, _URL)}"
    yield (
        "Discord webhook",
        f"https://discord.com/api/webhooks/{tail(18, string.digits)}/{tail(68)}",
    )
    yield "Telegram", f"{tail(10, string.digits)}:AA{tail(33, _URL)}"
    yield "SendGrid", f"SG.{tail(22, _URL)}.{tail(43, _URL)}"
    yield "Twilio", f"SK{tail(32, _HEX)}"
    yield "Mailgun", f"key-{tail(32, _HEX)}"
    yield "Mailgun, newer", f"{tail(32, _HEX)}-{tail(8, _HEX)}-{tail(8, _HEX)}"


def _shops_and_tools() -> Iterator[tuple[str, str]]:
    for kind in ("sk_live", "sk_test", "rk_live"):
        yield f"Stripe {kind}", f"{kind}_{tail(24)}"
    yield "Stripe webhook", f"whsec_{tail(32)}"
    for kind in ("at", "ca", "pa", "ss"):
        yield f"Shopify shp{kind}", f"shp{kind}_{tail(32, _HEX)}"
    yield "Square", f"sq0atp-{tail(22, _URL)}"
    yield "Square, newer", f"EAAA{tail(60, _URL)}"
    yield "Grafana", f"glsa_{tail(32)}_{tail(8, _HEX)}"
    yield "Grafana cloud", f"glc_{tail(64, _BASE64)}"
    yield "Linear", f"lin_api_{tail(40)}"
    yield "Notion", f"ntn_{tail(11, string.digits)}{tail(35)}"
    yield "Notion, older", f"secret_{tail(43)}"
    yield "Postman", f"PMAK-{tail(24, _HEX)}-{tail(34, _HEX)}"
    yield "Sentry", f"sntryu_{tail(64, _HEX)}"
    yield "New Relic", f"NRAK-{tail(27, string.ascii_uppercase + string.digits)}"
    yield "Figma", f"figd_{tail(40, _URL)}"
    yield "JWT", f"eyJ{tail(33)}.eyJ{tail(40)}.{tail(43, _URL)}"


def _own() -> Iterator[tuple[str, str]]:
    yield "our own token", f"faber_{tail(43, _URL)}"


# A name for each, and the secret itself: nothing of it may be left.
TOKENS = dict((*_own(), *_code_hosts(), *_models(), *_clouds(), *_messages(), *_shops_and_tools()))

PRIVATE_KEY = "\n".join(
    (
        "-----BEGIN RSA PRIVATE KEY-----",
        *(tail(64, _BASE64)[:-1] + str(number) for number in range(6)),
        tail(20, _BASE64) + "==",
        "-----END RSA PRIVATE KEY-----",
    )
)
