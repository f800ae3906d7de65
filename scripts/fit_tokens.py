"""Fit the costs of `indexes/tokens.py` to a real tokenizer (o200k_base), and show the error.

    python scripts/fit_tokens.py            # fit on one half of the documents, print constants, errors on the other
    python scripts/fit_tokens.py --check    # only the errors of the constants in use

Needs `gieok[eval]` and the real data (GIEOK_DATA, default ../shared/data). Documents of one group weigh the same
together as those of any other; an undercount weighs more than an overcount, since a budget is a promise.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bpe_openai import get_encoding
from numpy.typing import NDArray
from scipy.optimize import nnls

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from indexes.tokens import CLASSES, EXCEPTIONS, SPACE, estimate_tokens, pairs

Floats = NDArray[np.float64]

SHORTEST, LONGEST = 200, 2_000  # characters of a document
FEW = 10  # documents: a smaller group weighs less
RIDGE = 3e-3  # keeps the cost of a class that hardly occurs from running away
UNDERCOUNT_LIMIT = 0.10  # a document this far under weighs `FAR_UNDER`, well before the bar of 15 %
FAR_UNDER, UNDER, OVER = 15.0, 1.5, 1.0
ROUNDS = 20

# Scripts that the data hardly holds; written for this file. Each is repeated pieces of ordinary prose.
OTHER_SCRIPTS = {
    "Japanese": (
        "決済の再試行は同じ冪等キーで行います。データベースのスキーマを変更する前に、必ずバックアップを取ってください。",
        "金曜日の午後はデプロイしません。障害が起きたときに対応できる人が少ないからです。",
        "テストを先に書くと、あとで設計を変えるのが楽になります。ログを見て原因を調べました。",
    ),
    "Chinese": (
        "支付重试必须使用相同的幂等键，否则客户会被重复扣款。我们在数据库迁移之前先做备份。",
        "星期五下午不部署，因为周末没有足够的人处理故障。会议决定下周重新设计数据管道。",
        "先写测试，再写代码。日志显示连接池已经用尽，所以请求超时了。",
    ),
    "Russian": (
        "Повторный платёж отправляется с тем же ключом идемпотентности, иначе клиента спишут дважды.",
        "По пятницам мы не выкатываем релизы: в выходные некому чинить. Сначала миграция, потом код.",
        "Сначала пишем тест, затем исправляем ошибку. В журнале видно, что пул соединений исчерпан.",
    ),
    "drawn lines and tables": (
        "1. Introduction .................................... 3\n2. Schema .......................... 12",
        "==================== build =====================\n.....F....s......s.........  [ 42%]",
        "+--------+----------------+------+\n|  id    |  status        |  n   |\n+--------+----------------+------+",
        "wait... what?! no... the worker retried... and retried... 왜 이러지... 다시 해보자...",
        "┌──────────┐   ┌────────────┐\n│  client  │──▶│  gateway   │\n└──────────┘   └────────────┘",
    ),
    "emoji": (
        "배포 완료 🎉🎉 모니터링 이상 없음 👍 다음 주에 봐요 👋🏽 😂😂😂",
        "🚀 release v1.4.2 ✅ tests 🔥 hotfix 🐛 bug 📝 notes 🙏🙏",
        "점심 🍜 커피 ☕️ 회의 📅 금요일 🚫🚢 주말 🏖️ 👨‍👩‍👧‍👦",
    ),
}


class Group(NamedTuple):
    """Documents of one kind: their features (n, pairs of classes) and their true token counts (n)."""

    documents: list[str]
    features: Floats
    tokens: Floats


def cut(text: str) -> Iterator[str]:
    """Documents of at most LONGEST characters; a rest shorter than SHORTEST is dropped."""
    for start in range(0, len(text), LONGEST):
        piece = text[start : start + LONGEST]
        if len(piece) >= SHORTEST:
            yield piece


def packed(texts: Iterable[str]) -> Iterator[str]:
    """Short texts, joined by newlines until they reach SHORTEST characters."""
    buffer: list[str] = []
    for text in texts:
        buffer.append(text)
        if sum(map(len, buffer)) >= SHORTEST:
            yield "\n".join(buffer)
            buffer = []


def rows(path: Path) -> Iterator[dict[str, object]]:
    """The rows of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def corpus(folder: Path) -> list[str]:
    """The texts of a BEIR corpus."""
    return [str(row["text"]) for row in rows(folder / "corpus.jsonl")]


def spoken(value: object) -> Iterator[str]:
    """The texts inside a transcript's message: prompts, answers, thoughts, tool inputs and results."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from spoken(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in {"signature", "id", "tool_use_id", "type", "role", "model"}:
                yield from spoken(item)


def transcripts(folder: Path) -> Iterator[str]:
    """All texts of all messages."""
    for path in sorted(folder.glob("*.jsonl")):
        for row in rows(path):
            message = row.get("message")
            if isinstance(message, dict):
                yield from spoken(message.get("content"))


def documents(data: Path) -> dict[str, list[str]]:
    """Groups of documents by language and kind."""
    markdown = {
        name: [path.read_text(encoding="utf-8") for path in sorted((data / name).rglob("*.md"))]
        for name in ("til_ko", "observations_en")
    }
    interviews = corpus(data / "ai_interview_ko") + corpus(data / "tech_interview_ko")
    korean = [piece for text in markdown["til_ko"] + interviews for piece in cut(text)]
    groups = {
        "Korean developer notes": korean,
        "Korean encyclopedia": [piece for text in corpus(data / "tydiqa_ko") for piece in cut(text)],
        "Korean utterances": list(packed(corpus(data / "question_pair_ko"))),
        "Korean, decomposed (NFD)": [
            piece for text in korean[::10] for piece in cut(unicodedata.normalize("NFD", text))
        ],
        "English notes": [piece for text in markdown["observations_en"] for piece in cut(text)],
        "English prompts": [piece for text in corpus(data / "entire_sessions") for piece in cut(text)],
        "English diary": list(packed(corpus(data / "madial_en"))),
        "Transcripts with code": [piece for text in transcripts(data / "transcripts") for piece in cut(text)],
    }
    for name, samples in OTHER_SCRIPTS.items():
        groups[name] = [*samples, *samples[::-1], "\n".join(samples)]
    return groups


def measured(texts: list[str]) -> Group:
    """Features and true token counts."""
    encoding = get_encoding("o200k_base")
    size = len(CLASSES) ** 2
    features = np.array([np.bincount(pairs(text), minlength=size) for text in texts], np.float64)
    tokens = np.array([len(encoding.encode_ordinary(text)) for text in texts], np.float64)
    return Group(texts, features, tokens)


def halves(group: Group) -> tuple[Group, Group]:
    """Fit and test half, by a hash of the text: the same on every machine, duplicates on the same side."""
    fit = np.array([hashlib.sha256(text.encode()).digest()[0] % 2 == 0 for text in group.documents])
    first, second = (
        Group(
            [text for text, chosen in zip(group.documents, side, strict=True) if chosen],
            group.features[side],
            group.tokens[side],
        )
        for side in (fit, ~fit)
    )
    return first, second


def design() -> Floats:
    """(pairs of classes, parameters): which parameter a pair of classes pays."""
    count = len(CLASSES)
    exceptions = [(CLASSES.index(before), CLASSES.index(current)) for before, current in EXCEPTIONS]
    matrix = np.zeros((count * count, 3 * count + len(exceptions)))
    for before in range(count):
        for current in range(count):
            if (before, current) in exceptions:
                column = 3 * count + exceptions.index((before, current))
            else:
                column = 3 * current + (0 if before == current else 1 if before == SPACE else 2)
            matrix[before * count + current, column] = 1
    return matrix


def fit(groups: Iterable[Group]) -> Floats:
    """Non-negative costs by least squares on relative errors, reweighted against undercounts."""
    matrix = design()
    blocks, goals = [], []
    for group in groups:
        share = np.sqrt(min(1, len(group.tokens) / FEW) / len(group.tokens))
        blocks.append(group.features @ matrix / group.tokens[:, None] * share)
        goals.append(np.full(len(group.tokens), share))
    inputs, goal = np.concatenate(blocks), np.concatenate(goals)
    ridge = RIDGE * np.eye(inputs.shape[1])
    weights = np.ones_like(goal)
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        rows_ = np.vstack([inputs * root[:, None], ridge])
        costs: Floats = nnls(rows_, np.concatenate([goal * root, np.zeros(len(ridge))]))[0]
        error = inputs @ costs / goal - 1
        weights = np.where(error < -UNDERCOUNT_LIMIT, FAR_UNDER, np.where(error < 0, UNDER, OVER))
    return np.round(costs, 2)


def constants(costs: Floats) -> str:
    """The lines of `indexes/tokens.py` for these costs."""
    lines = ["COSTS: Final[dict[str, Cost]] = {"]
    for number, name in enumerate(CLASSES):
        inside, after_space, after_other = (f"{value:g}" for value in costs[3 * number : 3 * number + 3])
        lines.append(f'    "{name}": Cost({inside}, {after_space}, {after_other}),')
    lines += ["}", "EXCEPTIONS: Final[dict[tuple[str, str], float]] = {"]
    for (before, current), value in zip(EXCEPTIONS, costs[3 * len(CLASSES) :], strict=True):
        lines.append(f'    ("{before}", "{current}"): {value:g},')
    return "\n".join([*lines, "}"])


def table(title: str, groups: dict[str, Group], estimates: dict[str, Floats]) -> str:
    """Errors by group, as Markdown."""
    lines = [
        f"| {title} | documents | tokens | mean abs. error | bias | 1st percentile | worst under | > 15 % under |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, group in groups.items():
        error = estimates[name] / group.tokens - 1
        lines.append(
            f"| {name} | {len(error):,} | {group.tokens.sum():,.0f} | {abs(error).mean():.1%} | {error.mean():+.1%} "
            f"| {np.quantile(error, 0.01):+.1%} | {min(error.min(), 0):+.1%} | {(error < -0.15).sum()} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Fit or check, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only measure the constants in use")
    arguments = parser.parse_args()
    data = Path(os.environ.get("GIEOK_DATA", "../shared/data"))
    if not data.is_dir():
        sys.exit(f"No data at {data}. Set GIEOK_DATA to the folder of the shared data.")
    split = {name: halves(measured(texts)) for name, texts in documents(data).items()}
    test = {name: second for name, (_, second) in split.items()}
    if not arguments.check:
        costs = fit(first for first, _ in split.values())
        print(constants(costs), end="\n\n")
        matrix = design()
        fitted = {name: np.round(group.features @ matrix @ costs) for name, group in test.items()}
        print(table("just fitted, test half", test, fitted), end="\n\n")
    in_use = {name: np.array([estimate_tokens(t) for t in group.documents]) for name, group in test.items()}
    print(table("constants in use, test half", test, in_use))


if __name__ == "__main__":
    main()
