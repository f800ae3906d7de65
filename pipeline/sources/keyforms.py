"""The forms of keys and tokens that begin with letters of their own: a table, learned from what their issuers document.

The first letters are looked for as plain text, which is quick; only where they stand is the form of the rest tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEX, _ALNUM, _URLSAFE, _BASE64 = "[0-9a-f]", "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[A-Za-z0-9+/_=-]"


@dataclass(frozen=True, slots=True)
class KeyForm:
    """One form: what it begins with, and a pattern of the whole.

    `alone`: the beginning is so ordinary that it counts only where no letter or digit stands before it, and a rest
    without a digit is a word.
    """

    kind: str
    literal: str
    pattern: re.Pattern[str]
    alone: bool


# kind | beginnings | what follows. A beginning with a space before it must stand alone.
_TABLE = (
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_ALNUM}{{30,}}"),
    ("github-token", "github_pat_", r"[A-Za-z0-9_]{40,}"),
    (
        "gitlab-token",
        "glpat- glptt- glrt- gldt- glcbt- glft- glimt- glagent- gloas- glsoat- glffct- GR1348941",
        rf"{_URLSAFE}{{20,}}(?:\.{_URLSAFE}{{2,}})*",
    ),
    ("google-key", "AIza", rf"{_URLSAFE}{{35,}}"),
    ("google-key", "GOCSPX-", rf"{_URLSAFE}{{20,}}"),
    ("google-key", "ya29.", rf"{_URLSAFE}{{20,}}(?:\.{_URLSAFE}+)*"),
    ("google-key", "1//0", rf"{_URLSAFE}{{40,}}"),
    ("anthropic-key", "sk-ant-", rf"{_URLSAFE}{{20,}}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin-", rf"{_URLSAFE}{{20,}}"),
    ("openrouter-key", "sk-or-", rf"{_URLSAFE}{{20,}}"),
    ("langfuse-key", "sk-lf-", rf"{_URLSAFE}{{20,}}"),
    ("groq-key", "gsk_", rf"{_ALNUM}{{30,}}"),
    ("xai-key", "xai-", rf"{_ALNUM}{{40,}}"),
    ("perplexity-key", "pplx-", rf"{_ALNUM}{{30,}}"),
    ("replicate-token", "r8_", rf"{_ALNUM}{{30,}}"),
    ("huggingface-token", "hf_ api_org_", rf"{_ALNUM}{{30,}}"),
    ("nvidia-key", "nvapi-", rf"{_URLSAFE}{{40,}}"),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", rf"{_HEX}{{32}}_{_HEX}{{6,}}"),
    ("tavily-key", "tvly-", rf"{_URLSAFE}{{20,}}"),
    ("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe.", r"[A-Za-z0-9%.-]{20,}"),
    ("slack-webhook", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
     r"[A-Za-z0-9+/_-]{20,}"),
    ("discord-webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", rf"\d{{10,}}/{_URLSAFE}{{30,}}"),
    ("teams-webhook", ".webhook.office.com/webhookb2/", r"[A-Za-z0-9@/-]{60,}"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"{_ALNUM}{{10,}}"),
    ("stripe-key", "whsec_", r"[A-Za-z0-9+/=]{20,}"),
    ("toss-key", "live_sk_ test_sk_ live_gsk_ test_gsk_", rf"{_ALNUM}{{20,}}"),
    ("sendgrid-key", "SG.", rf"{_URLSAFE}{{16,}}\.{_URLSAFE}{{30,}}"),
    ("mailgun-key", "key-", rf"{_HEX}{{32}}(?!{_ALNUM})"),
    ("brevo-key", "xkeysib- xsmtpsib-", rf"{_HEX}{{60,}}(?:-{_ALNUM}+)?"),
    ("resend-key", "re_", rf"{_ALNUM}{{8}}_{_ALNUM}{{20,}}"),
    ("npm-token", "npm_", rf"{_ALNUM}{{30,}}"),
    ("pypi-token", "pypi-", rf"{_URLSAFE}{{50,}}"),
    ("rubygems-key", "rubygems_", rf"{_HEX}{{40,}}"),
    ("crates-token", "cio", rf"{_ALNUM}{{32}}(?!{_ALNUM})"),
    ("nuget-key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("docker-token", "dckr_pat_ dckr_oat_", rf"{_URLSAFE}{{20,}}"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{40,}}"),
    ("heroku-key", "HRKU-", rf"{_URLSAFE}{{30,}}"),
    ("fly-token", "fo1_ fm1_ fm1a_ fm1r_ fm2_", rf"{_BASE64}{{40,}}"),
    ("netlify-token", "nfp_", rf"{_ALNUM}{{30,}}"),
    ("supabase-key", "sbp_", rf"{_HEX}{{40,}}"),
    ("supabase-key", "sb_secret_", rf"{_URLSAFE}{{20,}}"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.=-]{30,}"),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_.-]{30,}"),
    ("vault-token", "hvs. hvb. hvr.", rf"{_URLSAFE}{{24,}}"),
    ("pulumi-token", "pul-", rf"{_HEX}{{40}}"),
    ("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-\d)?(?!{_ALNUM})"),
    ("azure-key", "AccountKey= SharedAccessKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("azure-sas", "&sig= ?sig=", r"[A-Za-z0-9%+/]{40,}={0,2}"),
    ("linear-key", "lin_api_ lin_oauth_", rf"{_ALNUM}{{30,}}"),
    ("notion-token", "ntn_", rf"{_ALNUM}{{30,}}"),
    ("notion-token", "secret_", rf"{_ALNUM}{{43}}(?!{_ALNUM})"),
    ("figma-token", "figd_ figo_", rf"{_URLSAFE}{{30,}}"),
    ("airtable-token", "pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    ("atlassian-token", "ATATT3 ATCTT3", rf"{_BASE64}{{60,}}"),
    ("atlassian-token", "ATBB", rf"{_ALNUM}{{32}}(?!{_ALNUM})"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[0-9a-fA-F]{32,}"),
    ("square-token", "sq0atp- sq0csp-", rf"{_URLSAFE}{{20,}}"),
    ("facebook-token", "EAA", rf"{_ALNUM}{{80,}}"),
    ("sentry-token", "sntrys_ sntryu_", rf"{_BASE64}{{40,}}"),
    ("newrelic-key", "NRAK- NRII- NRJS-", r"[A-Za-z0-9-]{20,}"),
    ("grafana-token", "glc_ glsa_", rf"{_BASE64}{{30,}}"),
    ("posthog-key", "phx_", rf"{_ALNUM}{{30,}}"),
    ("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("dropbox-token", "sl.", rf"{_URLSAFE}{{100,}}"),
    ("mapbox-token", "sk.eyJ", r"[A-Za-z0-9_.-]{40,}"),
    ("twilio-key", "SK", rf"{_HEX}{{32}}(?!{_ALNUM})"),
    ("aws-key", "AKIA ASIA ABIA ACCA",
     r"[A-Z0-9]{16}(?![A-Za-z0-9])(?:[\s,:;\"'|]{1,8}[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/]))?"),
    ("age-key", "AGE-SECRET-KEY-1", r"[0-9A-Za-z]{40,}"),
    ("onepassword-token", "ops_eyJ", rf"{_BASE64}{{60,}}"),
    # What many issuers make, and DeepSeek, Moonshot and older OpenAI keys among them.
    ("api-key", "sk-", rf"{_ALNUM}{{30,}}"),
)  # fmt: skip

_ALONE = frozenset((
    "AIza", "1//0", "xai-", "r8_", "hf_", "SG.", "key-", "re_", "cio", "oy2", "fo1_", "pul-", "dapi", "secret_",
    "pat", "ATBB", "EAA", "sl.", "SK", "AKIA", "ASIA", "ABIA", "ACCA", "eyJ", "sk-", "hvs.", "hvb.", "hvr.",
    "glc_", "phx_", "nfp_", "gsk_", "ntn_", "sbp_", "tvly-",
))  # fmt: skip

# Forms that only their inner letters tell: what stands in the middle, and the whole around it.
_INNER = (
    # Only where a run begins (or an escape before it ends): what repeats its beginning would take quadratic time.
    (
        "jwt",
        "eyJ",
        rf"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-F]{{2}}))eyJ{_URLSAFE}{{10,}}\.{_URLSAFE}{{8,}}(?:\.{_URLSAFE}*){{1,3}}",
    ),
    ("telegram-token", ":AA", r"(?<![0-9A-Za-z])\d{6,12}:AA[A-Za-z0-9_-]{32,}"),
    ("azure-secret", "Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"),
    ("terraform-token", ".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}"),
    ("mailchimp-key", "-us", r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    ("braintree-token", "access_token$", r"access_token\$\w+\$[a-z0-9]{16}\$[0-9a-f]{32}"),
)


def _forms() -> Iterator[KeyForm]:
    for kind, beginnings, rest in _TABLE:
        for literal in beginnings.split():
            yield KeyForm(kind, literal, re.compile(re.escape(literal) + rest, re.ASCII), literal in _ALONE)
    for kind, literal, whole in _INNER:
        yield KeyForm(kind, literal, re.compile(whole, re.ASCII), False)


KEY_FORMS: tuple[KeyForm, ...] = tuple(_forms())
