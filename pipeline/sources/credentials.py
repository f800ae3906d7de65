"""Secrets that only their name tells: `password=…`, `"api_key": "…"`, `비밀번호: …`.

A value is taken for a secret when it could be one: placeholders, words, variables and pieces of code are left alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_PASSWORDS = (
    "password", "passwd", "passphrase", "passcode", "pwd", "_pass", "-pass", "_pw", "dbpass",
    "비밀번호", "비번", "암호", "패스워드",
)  # fmt: skip
_TOKENS = (
    "secret", "token", "api_key", "apikey", "api-key", "api key", "access_key", "accesskey", "access-key",
    "secret_key", "secretkey", "secret-key", "secret key", "private_key", "privatekey", "private-key",
    "auth_key", "authkey", "auth-key", "account_key", "accountkey", "signing_key", "encryption_key", "encryptionkey",
    "master_key", "service_key", "service-key", "servicekey", "rest_key", "app_key", "appkey", "admin_key",
    "credential", "credentials", "jsessionid", "phpsessid", "connect.sid", "_auth",
    "시크릿", "시크릿키", "시크릿 키", "토큰", "인증키", "인증 키", "비밀키", "비밀 키", "접속키", "api 키", "api키",
)  # fmt: skip
_NAMES = (*_PASSWORDS, *_TOKENS)

# Between a name and its value: `=`, `:`, ` := `, `": "`, `** : \``, `>` in XML, a type (`: str = `), words that join.
_AFTER = re.compile(
    r"[\\\"'`*_\])?]{0,5}[ \t]{0,20}"
    r"(?:(?P<joint>:=|=>|={1,3}|:|\|)(?:[ \t]{0,4}(?:str|String|string|SecretStr|bytes|text)"
    r"(?:[ \t]{0,2}\|[ \t]{0,2}\w{1,9})?[ \t]{0,4}=)?|(?P<xml>>)"
    r"|(?P<word>[ \t]{0,3}\b(?:is|was)[ \t]|[은는이가를을]?[ \t]{0,3}:?[ \t]))"
    r"[ \t]{0,20}(?:[brfu]{0,2}(?=[\"']))?(?P<quote>\\?[\"'`*]{0,3})",
    re.ASCII,
)
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.){{1,600}}") for quote in "\"'`*"}
# Not over what begins the next pair: `&user=`, `, name:`, `;Database=`.
_BARE = re.compile(r"(?:(?![&,;|][ \t]{0,4}[\"']?[A-Za-z_][\w. -]{0,40}[=:])[^\s\"'`<>\\]){1,600}")
_TRAILING = ".,;:)]}|*"

_PLACEHOLDER = re.compile(
    r"^(?:[x*.•●_\-#?0]+$|<.*|\[.*|\{.*|\$.*|%.*|@.*|…|\.\.\.)"
    r"|your[_\- ]?|(?:^|[_\- ])(?:my|the|some|any|new|old)[_\- ](?:api|secret|password|token|key)"
    r"|example|placeholder|change[_\- ]?(?:me|this|it)|replace[_\- ]?(?:me|this|with)|insert[_\- ]"
    r"|redacted|dummy|sample"
    r"|(?:^|[_\- ])(?:fake|mock|test|todo|tbd|none|null)(?:$|[_\- ])|x{5,}|\*{3,}|\.{3}|…|여기|입력|내_|내 ",
    re.IGNORECASE,
)
_ORDINARY = frozenset((
    "password", "passwd", "passphrase", "pass", "pwd", "secret", "token", "string", "str", "text", "bytes",
    "number", "boolean", "bool", "true", "false", "none", "null", "nil", "undefined", "required", "optional",
    "empty", "hidden", "encrypted", "hashed", "default", "env", "user", "admin", "root", "guest", "username",
))  # fmt: skip
_CODE = re.compile(
    r"^[A-Za-z_$][\w$.]*\??[(\[{]|^[(\[{]|=>|->|::|^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$|^(?:process\.env|os\.|self\.|this\.|config\.|env\.|var\.|"
    r"secrets?\.|vault:|file:|https?:|/|\./|~/|[A-Za-z]:\\)"
)
_UNIT = re.compile(r"[_\-./:]+")


class Named(NamedTuple):
    """A value with a telling name."""

    start: int
    end: int
    kind: str


def credentials(text: str) -> Iterator[Named]:
    """The secrets in `text` that stand after a telling name."""
    low = text.lower()
    if len(low) != len(text):  # letters of which the small form is longer
        low = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    for name in _NAMES:
        position = low.find(name)
        while position >= 0:
            end = position + len(name)
            found = _value(text, position, end, name)
            if found is not None:
                yield found
                end = found.end
            position = low.find(name, end)


def secret_under(name: str, value: str) -> str | None:
    """The kind of secret that `value` is as the value of a key or field `name`; None if it is none."""
    folded = name.lower().replace(" ", "_")
    for known in _NAMES:
        if folded.endswith(known):
            return _judge(known, value, quoted=True)
    return None


def _value(text: str, start: int, end: int, name: str) -> Named | None:
    if name.isascii() and text[end : end + 1].isascii() and text[end : end + 1].isalnum():
        return None  # `tokens`, `tokenizer`
    joint = _AFTER.match(text, end)
    if joint is None:
        return None
    option = text.rfind("--", max(0, start - 40), start)
    by_option = option >= 0 and not any(letter.isspace() for letter in text[option:start])
    if joint["xml"] and "<" not in text[max(0, start - 60) : start]:
        return None
    if joint["word"] and name.isascii() and joint["word"].strip() in ("", ":") and not by_option:
        return None
    quote = joint["quote"].lstrip("\\")[:1]
    pattern = _QUOTED[quote] if quote else _BARE
    match = pattern.match(text, joint.end())
    if match is None:
        return None
    value = match[0] if quote else match[0].rstrip(_TRAILING)
    if quote and joint["quote"].startswith("\\"):
        value = value.split("\\" + quote, 1)[0]
    kind = _judge(name, value, quoted=bool(quote))
    return None if kind is None else Named(joint.end(), joint.end() + len(value), kind)


def _judge(name: str, value: str, *, quoted: bool) -> str | None:
    if is_placeholder(value) or (not quoted and _CODE.search(value)) or (quoted and _is_reference(value)):
        return None
    if name in _PASSWORDS:
        spaced = " " in value.strip()
        return "password" if len(value) >= 6 and not spaced and _is_mixed(value) else None
    return "credential" if looks_random(value, 10 if name == "secret" else 12) else None


def _is_reference(value: str) -> bool:
    """Whether a quoted value names where the secret is, or is a piece of code."""
    return (
        bool(re.search(r"\$\{|\{\{|\$\(|^(?:https?:|file:|vault:|\./|~/|/)|[()]\s*[;{]?$", value))
        or " " in value.strip()
    )


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret but is none: `***`, `<token>`, `${PASSWORD}`, `your-api-key`."""
    bare = value.strip().strip("\"'`")
    return len(set(bare)) < 3 or bare.lower() in _ORDINARY or _PLACEHOLDER.search(bare) is not None


def _is_mixed(value: str) -> bool:
    """Whether letters are mixed with digits or symbols, as nobody writes words."""
    letters = any(letter.isalpha() for letter in value)
    digits = any(letter.isdigit() for letter in value)
    symbols = any(not letter.isalnum() and letter not in "_-./ ," for letter in value)
    return letters and (digits or symbols) and not any("가" <= letter <= "힣" for letter in value)


def looks_random(value: str, shortest: int) -> bool:
    """Whether a machine made it: at least `shortest` characters, letters and digits, many different ones, no words."""
    if len(value) < shortest or not value.isascii() or is_placeholder(value):
        return False
    if not any(letter.isdigit() for letter in value) or not any(letter.isalpha() for letter in value):
        return False
    pieces = [piece for piece in _UNIT.split(value) if piece]
    if all(_is_word(piece) for piece in pieces):
        return False
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy >= min(3.0, 0.75 * math.log2(len(value)))


def _is_word(piece: str) -> bool:
    """A word, a short number or a word with a short number: `auth`, `v2`, `2026`, `token1`."""
    return re.fullmatch(r"[A-Za-z][a-z]*\d{0,2}|[A-Z]+\d{0,2}|\d{1,4}|v\d+", piece) is not None and len(piece) <= 16
