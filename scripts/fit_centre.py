#!/usr/bin/env python3
"""Make `centre.npy` of the bundled model: what `indexes.centre` subtracts from its vectors.

The means are over `parallel.tsv`, forty everyday sentences in Korean and, with the same meaning, in English, so that
they differ by language and not by subject. AMOUNT and TOWARDS_QUERY were chosen on dev splits; docs/model.md has them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from indexes import embedder
from indexes.ahead import BUNDLED_FOLDER
from indexes.centre import KINDS

HERE = Path(__file__).parent
TARGET = BUNDLED_FOLDER / embedder.CENTRE_FILE
AMOUNT = 0.65
"""Of the mean, the part that is subtracted."""
TOWARDS_QUERY = 0.5
"""A question is centred between the mean of passages and that of questions: short sentences stand for questions here,
and longer ones (a dialogue so far) are nearer to passages."""
TOLERANCE = 1e-3
"""Of --check: processors round differently."""


def fit() -> np.ndarray:
    """The array that `Centre` reads."""
    pairs = [line.split("\t") for line in (HERE / "parallel.tsv").read_text(encoding="utf-8").splitlines()]
    model = embedder.FastEmbedder(centred=False)
    columns = list(zip(*pairs, strict=True))
    passage = np.array([model.embed_passages(texts).mean(0) for texts in columns])
    query = np.array([np.mean([model.embed_query(text) for text in texts], 0) for texts in columns])
    means = {"passage": passage, "query": passage + TOWARDS_QUERY * (query - passage)}
    return (AMOUNT * np.stack([means[kind] for kind in KINDS])).astype(np.float32)


def main() -> None:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed file instead of writing it")
    made = fit()
    if parser.parse_args().check:
        worst = float(np.abs(np.load(TARGET) - made).max())
        print(f"largest difference {worst:.2e}")
        raise SystemExit(worst > TOLERANCE)
    np.save(TARGET, made)
    print(TARGET)


if __name__ == "__main__":
    main()
