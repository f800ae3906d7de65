"""Secrets in text are masked before anything is written: keys, tokens, passwords, private keys.

What is masked reads `[redacted:kind]`. Every rule begins with a search for plain letters and then looks at a bounded
piece of text, so that the time is linear in the length of the text. Forms of keys: `keyforms`; names such as
`password=`: `credentials`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.sources.credentials import credentials, is_placeholder, looks_random
from pipeline.sources.keyforms import KEY_FORMS

REDACTION_VERSION = 1
"""Raised whenever other text is masked: sources are then read again."""


class Secret(NamedTuple):
    """A secret's place in a text, and what it is."""

    start: int
    end: int
    kind: str


def mask(text: str) -> tuple[str, Counter[str]]:
    """`text` with its secrets masked, and how many of each kind there were."""
    found = _merged(sorted(_secrets(text)))
    if not found:
        return text, Counter()
    parts, position = [], 0
    for start, end, kind in found:
        parts += [text[position:start], f"[redacted:{kind}]"]
        position = end
    parts.append(text[position:])
    return "".join(parts), Counter(kind for _, _, kind in found)


def masked(text: str) -> str:
    """`text` with its secrets masked."""
    return mask(text)[0]


def _merged(found: list[Secret]) -> list[Secret]:
    merged: list[Secret] = []
    for secret in found:
        if merged and secret.start < merged[-1].end:
            before = merged[-1]
            if secret.end > before.end:
                merged[-1] = before._replace(end=secret.end)
            if before.start == secret.start and before.kind == "credential":
                merged[-1] = merged[-1]._replace(kind=secret.kind)
        else:
            merged.append(secret)
    return merged


def _secrets(text: str) -> Iterator[Secret]:
    yield from _keys(text)
    yield from _private_keys(text)
    yield from _urls(text)
    yield from _headers(text)
    yield from _cookies(text)
    yield from _commands(text)
    yield from (Secret(start, end, kind) for start, end, kind in credentials(text))


# --- keys with a form of their own -----------------------------------------------------------------------------------

_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2}|\\[nrtbf\"'/]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)$")
# Three base64url parts, the first of which is a number: Discord's own way to write a bot's token.
_DISCORD = re.compile(
    r"(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}(?![A-Za-z0-9])"
)


def _keys(text: str) -> Iterator[Secret]:
    for form in KEY_FORMS:
        if form.literal not in text:
            continue
        for match in form.pattern.finditer(text):
            body = match[0].removeprefix(form.literal)
            if form.alone and (_glued(text, match.start()) or not any(letter.isdigit() for letter in body)):
                continue
            if len(set(body)) > 4 and not is_placeholder(body):
                yield Secret(match.start(), match.end(), form.kind)
    if text.count(".") > 1:
        for match in _DISCORD.finditer(text):
            if _is_number(match[0].split(".", 1)[0]):
                yield Secret(match.start(), match.end(), "discord-token")


def _glued(text: str, start: int) -> bool:
    """Whether a letter or digit stands before `start` that is not the end of an escape (`%3D`)."""
    before = text[start - 1 : start]
    if not (before.isascii() and (before.isalnum() or before == "_")):
        return False
    return _ESCAPED.search(text[max(0, start - 8) : start]) is None


def _is_number(encoded: str) -> bool:
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


# --- private keys ----------------------------------------------------------------------------------------------------

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[A-Za-z0-9+/=]{24,}")
# Lines of base64 and what may stand between them: line ends, also escaped, indents, quotes, numbers of lines.
_LINES = re.compile(
    r"(?:[^A-Za-z0-9+/=]{0,24}(?:(?<=\\)[nr][^A-Za-z0-9+/=]{0,24})?(?:\d{1,6}[→\t|: ])?[A-Za-z0-9+/=]{24,})+"
)
_REST = re.compile(r"(?:[^A-Za-z0-9+/=-]{0,12}(?:(?<=\\)[nr])?[A-Za-z0-9+/]{1,63}={0,2}(?=[\s\"'\\]|$))?")
_LONGEST_KEY = 24_000
"""Characters of a private key block: an RSA key of 16,384 bits has 13,000."""
_PUTTY = re.compile(r"Private-Lines: \d{1,3}\r?\n((?:[A-Za-z0-9+/=]{1,80}\r?\n?){1,200})")


def _private_keys(text: str) -> Iterator[Secret]:
    if "PRIVATE KEY" in text:
        reach = 0
        for begin in _BEGIN.finditer(text):
            if begin.start() < reach:
                continue
            end = _END.search(text, begin.end(), begin.end() + _LONGEST_KEY)
            if end is not None and _BODY.search(text, begin.end(), end.start()):
                reach = end.end()
            else:  # cut off before its end
                lines = _LINES.match(text, begin.end(), begin.end() + _LONGEST_KEY)
                if lines is None:
                    continue
                rest = _REST.match(text, lines.end())
                reach = rest.end() if rest else lines.end()
            yield Secret(begin.start(), reach, "private-key")
        for end in _END.finditer(text):
            if end.start() >= reach:  # cut off after its beginning
                window = text[max(reach, end.start() - _LONGEST_KEY) : end.start()]
                tail = re.match(r"[^A-Za-z0-9+/=]{0,24}", window[::-1])
                lines = _LINES.match(window[::-1])
                short = re.match(r"[^A-Za-z0-9+/=]{0,24}[A-Za-z0-9+/=]{1,23}(?=[^A-Za-z0-9+/=])", window[::-1])
                after = _LINES.match(window[::-1], short.end()) if short and lines is None else None
                length = after.end() if after else lines.end() if lines else 0
                if tail is not None and length:
                    yield Secret(end.start() - length, end.end(), "private-key")
    if "Private-Lines: " in text:
        for match in _PUTTY.finditer(text):
            yield Secret(match.start(1), match.end(1), "private-key")


# --- passwords in addresses, headers and commands --------------------------------------------------------------------

_USERINFO = re.compile(r"://(?P<user>[^\s/?#:@\"'<>`]{0,128}):(?P<password>[^\s/\"'<>`]{1,256})@(?=[\w.\[$%{-])")
_USER_ONLY = re.compile(r"://(?P<user>[^\s/?#:@\"'<>`]{16,256})@(?=[\w\[])")
_HEADER = re.compile(
    r"uthorization[\"'`]{0,2}\s{0,3}[:=,]\s{0,3}[\"'`]{0,2}(?:Bearer|Basic|Token|KakaoAK|ApiKey|Digest)?\s{0,3}"
    r"(?P<value>[A-Za-z0-9+/=_.~-]{8,})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?:earer|EARER|akaoAK) {1,3}(?P<value>[A-Za-z0-9+/=_.~-]{16,})")
_BASIC = re.compile(r"asic {1,3}(?P<value>[A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9])")
_CURL_USER = re.compile(r" (?:-u|--user)[ =]{1,2}[\"']?[^\s:\"']{1,128}:(?P<value>[^\s\"']{1,256})")
_ATTACHED = re.compile(r"mysql\w{0,12}\b[^\n|;&]{0,300}? -p(?P<quote>[\"']?)(?P<value>[^\s\"'-][^\s\"']{2,128})")
_SSHPASS = re.compile(r"sshpass -p[ ]?[\"']?(?P<value>[^\s\"']{1,128})")
_REDIS_AUTH = re.compile(r"redis-cli\b[^\n|;&]{0,200}? (?:-a|--pass) [\"']?(?P<value>[^\s\"']{1,128})")
_COOKIE = re.compile(r"ookie[\"']?: {0,2}[\"']?(?P<value>[^\n\"'\\]{8,4000})")
_PAIR = re.compile(r"[^\s=;]{1,64}=(?P<value>[A-Za-z0-9+/%_.~-]{20,}={0,2})")


def _urls(text: str) -> Iterator[Secret]:
    if "://" not in text or "@" not in text:
        return
    for match in _USERINFO.finditer(text):
        if not is_placeholder(match["password"]):
            yield Secret(*match.span("password"), "url-password")
        if looks_random(match["user"], 24):
            yield Secret(*match.span("user"), "url-user")
    for match in _USER_ONLY.finditer(text):
        if looks_random(match["user"], 16):
            yield Secret(*match.span("user"), "url-user")


def _headers(text: str) -> Iterator[Secret]:
    if "uthorization" in text or "UTHORIZATION" in text:
        for match in _HEADER.finditer(text):
            if looks_random(match["value"], 8) or _is_basic(match["value"]):
                yield Secret(*match.span("value"), "authorization")
    if "earer " in text or "EARER " in text or "akaoAK " in text:
        for match in _BEARER.finditer(text):
            if looks_random(match["value"], 16):
                yield Secret(*match.span("value"), "authorization")
    if "asic " in text:
        for match in _BASIC.finditer(text):
            if _is_basic(match["value"]):
                yield Secret(*match.span("value"), "authorization")


def _cookies(text: str) -> Iterator[Secret]:
    if "ookie" in text:
        for match in _COOKIE.finditer(text):
            for pair in _PAIR.finditer(text, *match.span("value")):
                if looks_random(pair["value"], 20):
                    yield Secret(*pair.span("value"), "cookie")


def _is_basic(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    user, colon, password = plain.partition(":")
    return bool(colon and password) and user.isprintable() and not is_placeholder(password)


def _commands(text: str) -> Iterator[Secret]:
    for hint, pattern in (
        ("curl", _CURL_USER), ("mysql", _ATTACHED), ("sshpass", _SSHPASS), ("redis-cli", _REDIS_AUTH),
    ):  # fmt: skip
        if hint in text:
            for match in pattern.finditer(text):
                if not is_placeholder(match["value"]):
                    yield Secret(*match.span("value"), "password")
