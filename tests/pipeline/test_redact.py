"""Secrets never reach a file of ours. All of them are made up here, from a seeded chance: none is written down."""

from __future__ import annotations

import base64
import json
import os
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import Gieok, Settings
from pipeline.settings import Embedder, Privacy
from pipeline.sources.redact import mask, masked

ALNUM, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
B64, UPPER = ALNUM + "+/", string.ascii_uppercase


def some(chance: random.Random, alphabet: str, length: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length - 4)) + "".join(
        chance.choice(part) for part in ("0123456789", alphabet, "23456789", alphabet)
    )


def part(chance: random.Random, length: int) -> str:
    return base64.urlsafe_b64encode(chance.randbytes(length)).decode().rstrip("=")


Maker = Callable[[random.Random], str]

FORMS: dict[str, Maker] = {
    "github": lambda c: "ghp_" + some(c, ALNUM, 36),
    "github fine": lambda c: "github_pat_" + some(c, ALNUM, 22) + "_" + some(c, ALNUM, 59),
    "gitlab": lambda c: "glpat-" + some(c, ALNUM, 20),
    "google": lambda c: "AIza" + some(c, ALNUM, 35),
    "google oauth": lambda c: "GOCSPX-" + some(c, ALNUM, 28),
    "anthropic": lambda c: "sk-ant-api03-" + some(c, ALNUM, 93) + "AA",
    "openai": lambda c: "sk-proj-" + some(c, ALNUM, 48),
    "openai, older": lambda c: "sk-" + some(c, ALNUM, 48),
    "aws": lambda c: "AKIA" + "".join(c.choice(UPPER + "234567") for _ in range(14)) + "2A",
    "slack": lambda c: "xoxb-" + some(c, string.digits, 12) + "-" + some(c, ALNUM, 24),
    "slack webhook": lambda c: f"https://hooks.slack.com/services/T0{some(c, UPPER, 8)}/B0/{some(c, ALNUM, 24)}",
    "stripe": lambda c: "sk_live_" + some(c, ALNUM, 24),
    "toss": lambda c: "live_sk_" + some(c, ALNUM, 32),
    "sendgrid": lambda c: "SG." + some(c, ALNUM, 22) + "." + some(c, ALNUM, 43),
    "npm": lambda c: "npm_" + some(c, ALNUM, 36),
    "pypi": lambda c: "pypi-AgEIcHlwaS5vcmc" + some(c, ALNUM, 60),
    "huggingface": lambda c: "hf_" + some(c, ALNUM, 34),
    "digitalocean": lambda c: "dop_v1_" + some(c, HEX, 64),
    "databricks": lambda c: "dapi" + some(c, HEX, 32),
    "vault": lambda c: "hvs." + some(c, ALNUM, 90),
    "shopify": lambda c: "shpat_" + some(c, HEX, 32),
    "docker": lambda c: "dckr_pat_" + some(c, ALNUM, 27),
    "telegram": lambda c: some(c, "123456789", 10) + ":AA" + some(c, ALNUM, 33),
    "azure storage": lambda c: "AccountKey=" + some(c, B64, 86) + "==",
    "jwt": lambda c: ".".join(("eyJ" + part(c, 24), "eyJ" + part(c, 60), part(c, 32))),
    "age": lambda c: "AGE-SECRET-KEY-1" + some(c, UPPER + string.digits, 58),
    "linear": lambda c: "lin_api_" + some(c, ALNUM, 40),
    "notion": lambda c: "ntn_" + some(c, ALNUM, 46),
    "terraform": lambda c: some(c, ALNUM, 14) + ".atlasv1." + some(c, ALNUM, 60),
    "mailchimp": lambda c: some(c, HEX, 32) + "-us12",
}  # fmt: skip
CONTEXTS = (
    "배포 토큰은 {} 이다.",
    'export const KEY = "{}";',
    "curl -H 'X-Api-Key: {}' https://api.example.com",
    '{{"key":"{}"}}',
    "| 이름 | {} |",
    "`{}`",
    "키:{}\n",
)
PLACED: dict[str, tuple[str, Maker]] = {
    "address": ("postgres://haru:{}@db.internal:5432/app", lambda c: some(c, ALNUM, 16)),
    "password": ('password="{}"', lambda c: some(c, ALNUM, 14) + "!"),
    "환경 변수": ("DB_PASSWORD={}", lambda c: some(c, ALNUM, 18)),
    "비밀번호": ("비밀번호: {}", lambda c: some(c, ALNUM, 12) + "#1"),
    "api_key": ('"api_key": "{}"', lambda c: some(c, ALNUM, 32)),
    "bearer": ("Authorization: Bearer {}", lambda c: some(c, ALNUM, 40)),
    "cookie": ("Cookie: theme=dark; session={}", lambda c: some(c, ALNUM, 32)),
    "mysql": ("mysql -h db -u root -p{} app", lambda c: some(c, ALNUM, 14)),
    "private key": (
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        lambda c: "\n".join(some(c, B64, 64) for _ in range(8)),
    ),
    "cut private key": (
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n",
        lambda c: "\n".join(some(c, B64, 64) for _ in range(3)),
    ),
}  # fmt: skip


def planted() -> Iterator[tuple[str, str, str]]:
    """The name of a form, a text, and the secret in it."""
    chance = random.Random(20261201)
    for name, made in FORMS.items():
        for context in CONTEXTS:
            secret = made(chance)
            yield name, context.format(secret), secret
    for name, (context, made) in PLACED.items():
        for _ in range(3):
            secret = made(chance)
            yield name, context.format(secret), secret


ALL = list(planted())


def test_there_are_enough_of_them() -> None:
    assert len(ALL) >= 200
    assert len(FORMS) + len(PLACED) >= 25


@pytest.mark.parametrize("name", [*FORMS, *PLACED])
def test_each_form_is_masked_wherever_it_stands(name: str) -> None:
    for form, text, secret in ALL:
        if form == name:
            clean, counts = mask(text)
            left = [line for line in secret.split("\n") if line in clean]
            assert left == [], text
            assert "[redacted:" in clean
            assert counts.total() >= 1


@pytest.mark.parametrize(
    "text",
    [
        "password=***", "API_KEY=your-api-key", 'token = os.environ["TOKEN"]', "sk-...", "ghp_" + "x" * 36,
        "commit 83c840a2c85fe3fda5a25cc24d5669040a42c9c2", "token_count=4096",
        "id 253fd5ef-38bf-4f4a-804a-98df5088a868",
        "비밀번호는 여섯 자리 이상이어야 한다", "password: string", "the secret is to write tests first", "https://a.b/c?d=e@f",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "max_tokens: 2000, tokenizer: o200k",
        "password: ${DB_PASSWORD}", 'const token = getToken();', "mem_k3f9abcd2345",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


@given(st.text())
def test_any_text_can_be_masked_twice(text: str) -> None:
    once = masked(text)
    assert masked(once) == once


@pytest.mark.parametrize(
    "unit", ["password=", "a://b:c", "eyJ", "-----BEGIN PRIVATE KEY-----", "Authorization: ", "A" * 64, "-u a:", "ghp_"]
)
def test_long_hostile_lines_come_to_an_end(unit: str) -> None:
    # In quadratic time, as a first version took for "eyJ", this would be hours for all of them.
    once = masked(unit * (1_000_000 // len(unit)))
    assert masked(once) == once


def everything(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_no_secret_reaches_a_file(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    rows = [
        {"id": str(n), "content": text, "title": text[:80], "metadata": {"env": {"v": text}}}
        for n, (_, text, _) in enumerate(ALL)
    ]
    (notes / "rows.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    (notes / "note.md").write_text("# 키\n\n" + "\n\n".join(text for _, text, _ in ALL), encoding="utf-8")
    turns = [
        {
            "type": "user",
            "uuid": f"u{n}",
            "sessionId": "s",
            "timestamp": "2026-01-30T14:05:00Z",
            "message": {"role": "user", "content": text},
        }
        for n, (_, text, _) in enumerate(ALL)
    ]
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "echo " + ALL[0][1]}}
    turns.append(
        {
            "type": "assistant",
            "uuid": "a",
            "sessionId": "s",
            "timestamp": "2026-01-30T14:06:00Z",
            "message": {"id": "m", "role": "assistant", "content": [call]},
        }
    )
    (notes / "talk.jsonl").write_text(
        "".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), encoding="utf-8"
    )
    with Gieok.open(tmp_path / "home", Settings(embedder=Embedder(model="none"))) as memory:
        report = memory.index([notes])
        assert report.failed == []
        told = [notice.reason for notice in report.notices if "masked" in notice.reason]
        assert len(told) == 3
        assert "github-token" in told[0]
        written = everything(tmp_path / "home")
        for _, text, secret in ALL:
            for line in secret.split("\n"):
                for form in (line, line.lower(), line[4:-4].lower()):
                    assert form.encode() not in written, text
                    assert form.encode("utf-16-le") not in written
            assert all(secret not in hit.summary for hit in memory.search_index(text[:60], min_score=0.0))


def test_masking_can_be_switched_off_and_on_again(tmp_path: Path) -> None:
    _, text, secret = ALL[0]
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    settings = Settings(embedder=Embedder(model="none"))
    with Gieok.open(tmp_path / "home", settings) as memory:
        memory.index([tmp_path / "a.md"], redact=False)
        (hit,) = memory.search_index("배포 토큰", min_score=0.0)
        assert secret in memory.get_details([hit.id])[0].content
        assert memory.index([tmp_path / "a.md"]).updated == 1  # masked again, as is the default
        (hit,) = memory.search_index("배포 토큰", min_score=0.0)
        assert secret not in memory.get_details([hit.id])[0].content
    open_settings = settings.model_copy(update={"privacy": Privacy(redact=False)})
    with Gieok.open(tmp_path / "other", open_settings) as memory:
        memory.index([tmp_path / "a.md"])
        (hit,) = memory.search_index("배포 토큰", min_score=0.0)
        assert secret in memory.get_details([hit.id])[0].content


def test_a_key_tells_that_its_value_is_a_password(tmp_path: Path) -> None:
    secret = "tr0ub4dor&3x"
    row = {"content": "접속 정보", "metadata": {"db": {"password": secret, "user": "haru"}}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    with Gieok.open(tmp_path / "home", Settings(embedder=Embedder(model="none"))) as memory:
        memory.index([tmp_path / "rows.jsonl"])
        (hit,) = memory.search_index("접속 정보", min_score=0.0)
        (stored,) = memory.memories([memory.rank("접속 정보").candidates.rids[0]])
    assert hit.summary == "접속 정보"
    assert stored.metadata["db"] == {"password": "[redacted:password]", "user": "haru"}


def test_a_secret_that_a_reader_would_cut_in_two_is_masked_first(tmp_path: Path) -> None:
    secret = FORMS["github"](random.Random(5))
    turns = []
    for number, before in enumerate(range(500, 4_000, 7)):
        block = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": "a " * (before // 2) + secret + " b" * 4_000,
        }
        call = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Bash",
            "input": {"command": "x " * (before // 10) + secret + " y" * 900},
        }
        shared = {"sessionId": "s", "timestamp": "2026-01-30T14:05:00Z"}
        turns += [
            {
                "type": "assistant",
                "uuid": f"a{number}",
                **shared,
                "message": {"id": f"m{number}", "role": "assistant", "content": [call]},
            },
            {"type": "user", "uuid": f"u{number}", **shared, "message": {"role": "user", "content": [block]}},
        ]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    with Gieok.open(tmp_path / "home", Settings(embedder=Embedder(model="none"))) as memory:
        memory.index([tmp_path / "talk.jsonl"])
        stored = (tmp_path / "home" / "memories.db").read_bytes() + (tmp_path / "home" / "memories.db-wal").read_bytes()
    pieces = {secret[at : at + 12] for at in range(len(secret) - 11)}
    assert [piece for piece in pieces if piece.encode() in stored] == []


def test_files_of_the_home_are_the_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("배포는 금요일에 금지한다", encoding="utf-8")
    before = os.umask(0)
    try:
        with Gieok.open(tmp_path / "home") as memory:
            memory.index([tmp_path / "a.md"])
            memory.search_index("배포")
            modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "home").rglob("*")}
    finally:
        os.umask(before)
    assert {name: mode for name, mode in modes.items() if mode} == {}
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    ["DB_PASSWORD=aB3$x;y,z)9", r"{\"password\": \"hunter2!x\"}", "the password is hunter2", "암호: hunter2#"],
)
def test_passwords_in_odd_places(text: str) -> None:
    assert "[redacted:password]" in masked(text)
    assert "hunter2" not in masked(text)
    assert "aB3" not in masked(text)


def test_a_private_part_may_span_the_blocks_of_a_message(tmp_path: Path) -> None:
    texts = ["배포 이야기 <private>첫째비밀", "둘째비밀", "셋째비밀</private> 화요일에 한다"]
    turn = {
        "type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-30T14:05:00Z",
        "message": {"role": "user", "content": [{"type": "text", "text": text} for text in texts]},
    }  # fmt: skip
    (tmp_path / "talk.jsonl").write_text(json.dumps(turn, ensure_ascii=False) + "\n", encoding="utf-8")
    with Gieok.open(tmp_path / "home", Settings(embedder=Embedder(model="none"))) as memory:
        memory.index([tmp_path / "talk.jsonl"])
        (hit,) = memory.search_index("배포 화요일", min_score=0.0)
        assert "비밀" not in memory.get_details([hit.id])[0].content
    assert "비밀".encode() not in everything(tmp_path / "home")
