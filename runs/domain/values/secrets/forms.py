"""What secrets look like: how their makers write them, and the names they go by.

No pattern here may take longer than the text is long: a tail that repeats has no end it could
miss, or cannot begin a second time inside what it has read.
"""

import re
from typing import NamedTuple


class SecretForm(NamedTuple):
    """A kind of token, and the letters by which it is found in a long text."""

    begins: tuple[str, ...]
    pattern: str
    before: int = 0  # letters of the token in front of those it is found by


def _form(*begins: str, tail: str, before: str = r"(?<![A-Za-z0-9])") -> SecretForm:
    """A token that begins in one of these ways, and goes on with the tail."""
    return SecretForm(begins, f"{before}(?:{'|'.join(map(re.escape, begins))}){tail}")


_ANYWHERE = ""
_NOT_IN_BASE64 = r"(?<![A-Za-z0-9+/_-])"

TOKEN_FORMS = (
    # Our own: what programs and people sign in with
    _form("faber_", tail=r"(?=[a-z_-]{0,80}[A-Z0-9])[A-Za-z0-9_-]{40,}"),
    SecretForm(("/login/link/",), r"(?<=/login/link/)[A-Za-z0-9_:.%-]{10,}", -len("/login/link/")),
    # Code hosts and package registries
    _form(
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        tail=r"[A-Za-z0-9_]{16,}(?:[.-][A-Za-z0-9_-]+)*",
        before=_ANYWHERE,
    ),
    _form("github_pat_", tail=r"[A-Za-z0-9_]{16,}", before=_ANYWHERE),
    _form(
        *("glpat-", "gldt-", "glptt-", "glrt-", "glrtr-", "glcbt-", "glft-", "glffct-", "glimt-"),
        *("glagent-", "gloas-", "glsoat-", "glwt-"),
        tail=r"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)*",
        before=_ANYWHERE,
    ),
    _form("GR1348941", tail=r"[A-Za-z0-9_-]{20,}"),
    _form("_gitlab_session=", tail=r"[A-Za-z0-9]{20,}", before=_ANYWHERE),
    _form("npm_", tail=r"[A-Za-z0-9]{30,}"),
    _form("pypi-", tail=r"[A-Za-z0-9_-]{50,}", before=_ANYWHERE),
    _form("rubygems_", tail=r"[a-f0-9]{40,}"),
    _form("dckr_pat_", "dckr_oat_", tail=r"[A-Za-z0-9_-]{20,}"),
    _form("CLOJARS_", tail=r"[A-Za-z0-9]{50,}"),
    _form("AKCp", tail=r"[A-Za-z0-9]{60,}"),
    _form("cmVmd", tail=r"[A-Za-z0-9]{59}(?![A-Za-z0-9])"),
    _form("ATATT3", "ATCTT3", tail=r"[A-Za-z0-9_=-]{40,}"),
    _form("ATBB", tail=r"[A-Za-z0-9]{28,}(?![A-Za-z0-9])"),
    # Models
    _form("sk-", tail=r"[A-Za-z0-9_-]{16,}"),  # Anthropic, OpenAI and those who copy them
    _form("hf_", tail=r"[A-Za-z0-9]{30,}"),
    _form("api_org_", "gsk_", "r8_", tail=r"[A-Za-z0-9]{30,}"),
    _form("pplx-", "xai-", tail=r"[A-Za-z0-9]{40,}"),
    # Clouds
    _form("AKIA", "ASIA", "ABIA", "ACCA", tail=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _form("A3T", tail=r"[A-Z0-9][A-Z2-7]{16}(?![A-Za-z0-9])"),
    _form("ABSK", tail=r"[A-Za-z0-9+/]{100,}={0,2}"),
    _form("bedrock-api-key-", tail=r"[A-Za-z0-9+/=_-]{20,}"),
    _form("AIza", tail=r"[A-Za-z0-9_-]{35}", before=_ANYWHERE),  # Google
    _form("ya29.", tail=r"[A-Za-z0-9_.-]{16,}"),
    _form("GOCSPX-", tail=r"[A-Za-z0-9_-]{16,}", before=_ANYWHERE),
    _form("1//0", tail=r"[A-Za-z0-9_-]{30,}"),
    SecretForm(("Q~",), r"(?<![\w~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", 4),  # Azure
    _form("dop_v1_", "doo_v1_", "dor_v1_", tail=r"[a-f0-9]{40,}"),  # DigitalOcean
    _form("dapi", tail=r"[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),  # Databricks
    _form("fo1_", tail=r"[A-Za-z0-9_-]{40,}"),  # Fly
    _form("fm1a_", "fm1r_", "fm2_", tail=r"[A-Za-z0-9+/_-]{40,}={0,3}(?:,fm[12][ar]?_[\w+/=-]+)*"),
    _form("HRKU-", tail=r"[A-Za-z0-9_-]{40,}"),  # Heroku
    _form("LTAI", tail=r"[A-Za-z0-9]{20}(?![A-Za-z0-9])"),  # Alibaba
    _form("v1.0-", tail=r"[a-f0-9]{24}-[a-f0-9]{100,}"),  # Cloudflare
    _form("AQVN", tail=r"[A-Za-z0-9_-]{35,38}(?![A-Za-z0-9_-])"),  # Yandex
    _form("hvs.", "hvb.", "hvr.", tail=r"[A-Za-z0-9_-]{20,}"),  # Vault
    SecretForm((".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}", 14),  # Terraform
    _form("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", tail=r"[A-Za-z0-9._-]{30,}"),
    _form("tk-us-", tail=r"[A-Za-z0-9_-]{40,}"),  # Scalingo
    _form("4b1d", tail=r"[A-Za-z0-9]{38}(?![A-Za-z0-9])"),  # ClickHouse
    _form("pul-", tail=r"[a-f0-9]{40}(?![A-Za-z0-9])"),  # Pulumi
    _form("pscale_tkn_", "pscale_oauth_", "pscale_pw_", tail=r"[A-Za-z0-9_=.-]{30,}"),
    _form("sbp_", tail=r"[a-f0-9]{40,}"),  # Supabase
    _form("tskey-", tail=r"[A-Za-z0-9-]{20,}"),  # Tailscale
    _form("sha256~", tail=r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),  # OpenShift
    _form("ops_eyJ", tail=r"[A-Za-z0-9+/]{60,}={0,3}"),  # 1Password
    _form("AGE-SECRET-KEY-1", tail=r"[A-Z0-9]{50,}"),
    # Messages and mail
    SecretForm(("xox",), r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}"),  # Slack
    _form("xapp-", tail=r"[A-Za-z0-9-]{8,}", before=_ANYWHERE),
    _form("hooks.slack.com/", tail=r"(?:services|workflows|triggers)/[\w/+-]+", before=_ANYWHERE),
    _form("discord.com/api/", "discordapp.com/api/", tail=r"(?:v[0-9]{1,2}/)?webhooks/[\w/-]{20,}"),
    _form(".webhook.office.com/", tail=r"webhookb2/[\w@/-]{40,}", before=_ANYWHERE),
    # The number in front of it is the bot's name, which everybody may know.
    SecretForm((":A",), r"(?<=[0-9]{8}):A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])"),  # Telegram
    _form("SG.", tail=r"[A-Za-z0-9_.-]{40,}"),  # SendGrid
    _form("SK", tail=r"[0-9a-fA-F]{32}(?![A-Za-z0-9])"),  # Twilio
    _form("key-", tail=r"[0-9a-f]{32}(?![A-Za-z0-9])"),  # Mailgun
    _form("xkeysib-", tail=r"[a-f0-9]{40,}(?:-[A-Za-z0-9]+)?"),
    # Money and shops
    _form(
        *("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
        tail=r"[A-Za-z0-9]{10,}",
    ),
    _form("whsec_", tail=r"[A-Za-z0-9+/=_-]{20,}"),
    _form(
        *("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"),
        tail=r"[0-9a-fA-F]{32,}",
        before=_ANYWHERE,
    ),
    SecretForm(("sq0",), r"(?<![A-Za-z0-9])sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),  # Square
    _form("EAAA", tail=r"[A-Za-z0-9_-]{56,64}(?![A-Za-z0-9+/_=-])", before=_NOT_IN_BASE64),
    _form("EAAM", "EAAC", tail=r"[A-Za-z0-9]{100,}(?![A-Za-z0-9+/_=-])", before=_NOT_IN_BASE64),
    _form("EZAK", "EZTK", tail=r"[A-Za-z0-9]{54}(?![A-Za-z0-9])"),
    _form("FLWSECK_TEST-", "FLWSECK-", tail=r"[A-Za-z0-9]{12,}(?:-X)?"),
    _form("duffel_test_", "duffel_live_", tail=r"[A-Za-z0-9_=-]{40,}"),
    _form("shippo_live_", "shippo_test_", tail=r"[A-Fa-f0-9]{40,}"),
    _form("sig=", tail=r"[A-Za-z0-9%+/=_-]{30,}"),  # Azure, in an address that opens a store
    # Tools
    _form("lin_api_", "lin_oauth_", tail=r"[A-Za-z0-9]{30,}"),  # Linear
    _form("ntn_", "secret_", tail=r"(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{40,}"),  # Notion
    _form("PMAK-", tail=r"[A-Fa-f0-9]{24}-[A-Fa-f0-9]{30,}"),  # Postman
    _form("glc_", tail=r"[A-Za-z0-9+/]{32,}={0,3}"),  # Grafana
    _form("glsa_", tail=r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _form("eyJrIjoi", tail=r"[A-Za-z0-9]{60,}={0,3}"),
    _form("sntrys_", "sntryu_", tail=r"[A-Za-z0-9+/=_-]{40,}"),  # Sentry
    _form("NRAK-", "NRII-", "NRJS-", tail=r"[A-Za-z0-9-]{19,}"),  # New Relic
    _form("dt0c01.", tail=r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{60,}"),  # Dynatrace
    _form("figd_", "figu_", tail=r"[A-Za-z0-9_-]{30,}"),  # Figma
    _form("fio-u-", tail=r"[A-Za-z0-9_=-]{50,}"),
    _form("tfp_", tail=r"[A-Za-z0-9_.=-]{50,}"),
    _form("rdme_", tail=r"[a-z0-9]{60,}"),
    _form("pnu_", tail=r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _form("ico-", tail=r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _form("p8e-", tail=r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _form("s-s4t2ud-", "s-s4t2af-", tail=r"[a-f0-9]{64}"),
    _form("sgp_", tail=r"(?:[A-Fa-f0-9]{16}_|local_)?[A-Fa-f0-9]{40}"),  # Sourcegraph
    _form("squ_", "sqp_", "sqa_", tail=r"[a-f0-9]{40}(?![A-Za-z0-9])"),  # SonarQube
    _form("sm_aat_", "sm_pat_", "sm_sat_", tail=r"[A-Za-z0-9]{16,}"),
    _form("API-", tail=r"[A-Z0-9]{26}(?![A-Za-z0-9])"),  # Octopus
    SecretForm(("_mmk",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", 36),  # MaxMind
    SecretForm(("pat",), r"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),  # Airtable
    _form("pat.", "sat.", tail=r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),  # Harness
    # A JSON Web Token, whoever made it; and one that was encoded once more
    SecretForm(("eyJ",), r"(?<![\w-])eyJ[\w-]{5,}+\.[\w-]{5,}+(?:\.[\w-]*+)*+"),
    _form("ZXlK", tail=r"[A-Za-z0-9+/_-]{60,}={0,2}", before=_NOT_IN_BASE64),
)

# Tokens that begin in no way of their own: a place inside, and how many letters stand before it.
LOOSE_FORMS = (
    # Vault, in its older versions
    (r"s\.(?<![\w.]s\.)(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![\w.(-])", 0),
    # Facebook; in front of it stands the app's name
    (r"\|(?<=[0-9]{15}\|)[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])", 0),
    # 1Password
    (r"A3-(?<![A-Za-z0-9]A3-)[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}", 0),
    # Mailgun
    (r"-(?<=[0-9a-f]{32}-)[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])", 32),
    # Discord; in front of it stands the bot's name, which everybody may know
    (
        r"\.(?:(?<=[MNO][A-Za-z0-9]{23}\.)|(?<=[MNO][A-Za-z0-9]{25}\.))"
        r"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![A-Za-z0-9_-])",
        0,
    ),
)

# A key of AWS is forty letters like any others; beside its id they are one.
KEY_BESIDE_ID = (
    r"[^A-Za-z0-9+/][\s\S]{0,79}?(?<![A-Za-z0-9+/])([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])"
)

# Names whose value is a secret, whatever it looks like.
TELLING_NAMES = {
    "passw": r"passw(?:or)?d",
    "passphrase": r"passphrase",
    "pwd": r"pwd",
    "secret": r"secret(?!ar)",
    "credential": r"credentials?",
    "authorization": r"authorization",
    "token": r"token(?!s\b|iz)",
    **{
        name: rf"{name}[ _-]?key"
        for name in ("api", "access", "account", "private", "signing", "encryption")
    },
}
