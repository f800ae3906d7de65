"""`latency`: how long each layer takes, against its target, and what it takes in memory and on disk."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eval.corpus import OnStep, indexed
from eval.datasets import Dataset
from eval.grow import HOW, build, stored_vectors
from eval.machine import this_machine
from eval.schema import LatencyFile, LatencyRow, LayerTiming, Timing
from indexes.errors import StoreError
from indexes.manifest import Manifest
from indexes.types import Floats
from pipeline import Gieok, Settings
from pipeline.home import Home

TARGETS_MS = {1: 100.0, 2: 200.0, 3: 500.0}
"""p95 of each layer, from the design."""
QUERIES = 200
"""Distinct queries of the warm process: p99 is then the second slowest."""
SEED = 11
SIZES = (10_000, 100_000)
"""What corpora are grown to: a heavy user's year, and ten of them."""


def latency(
    datasets: Sequence[Dataset],
    cache: Path,
    settings: Settings,
    *,
    sizes: Sequence[int] = SIZES,
    cold: int = 10,
    on_step: OnStep = lambda _: None,
) -> LatencyFile:
    """Measure every set at its own size, and a corpus grown from all of them at each of `sizes`.

    `cold` is the number of fresh processes per layer.
    """
    began, machine = time.perf_counter(), this_machine()
    rows: list[LatencyRow] = []
    pools: list[Floats] = []
    keys = []
    for dataset in datasets:
        with indexed(dataset, cache, settings, on_step) as here:
            home = here.gieok.home
            keys.append(here.key)
        pools.append(stored_vectors(home))
        how = f"the set {dataset.name} as it is, {dataset.split} queries"
        rows.append(measure(dataset.name, how, home, list(dataset.queries.values()), settings, cold))
    documents = [document for dataset in datasets for document in dataset.documents]
    queries = [text for dataset in datasets for text in dataset.queries.values()]
    origin = hashlib.sha256("".join(keys).encode()).hexdigest()[:16]
    for size in sizes:
        home = cache / f"grown-{size}-{origin}" / "home"
        build(home, documents, size, np.concatenate(pools), settings, on_step)
        how = f"{HOW}; from {', '.join(dataset.name for dataset in datasets)}"
        rows.append(measure(f"grown to {size:,}", how, home, queries, settings, cold))
    return LatencyFile(machine=machine, seconds=time.perf_counter() - began, corpora=rows)


def measure(name: str, how: str, home: Path, queries: Sequence[str], settings: Settings, cold: int) -> LatencyRow:
    """One corpus: fresh processes first, then one warm one."""
    asked = sample(queries)
    plain = settings.model_dump()
    with Gieok.open(home, settings) as gieok:
        memories = gieok.status().memories
        found = (gieok.search_index(query, top_k=1) for query in asked)
        memory_id = next((hits[0].id for hits in found if hits), None)
    if memory_id is None:
        raise StoreError(f"No query of {name!r} finds anything; there is nothing to time.")
    first: dict[int, list[float]] = {layer: [] for layer in TARGETS_MS}
    command: list[float] = []
    for i in range(cold):
        query = asked[i % len(asked)]
        for layer, times in first.items():
            request = {"mode": "cold", "layer": layer, "query": query, "memory_id": memory_id}
            times.append(float(probe(request | {"home": str(home), "settings": plain})["ms"]))
        command.append(_command_line(home, query, settings))
    warm = probe({"mode": "warm", "home": str(home), "settings": plain, "queries": asked})
    place = Home(home)
    return LatencyRow(
        name=name,
        memories=memories,
        passages=_passages(place),
        how=how,
        layers=[
            LayerTiming(
                layer=layer,
                target_ms=target,
                cold=timing(first[layer]),
                miss=timing(warm["times"][f"{layer} miss"]),
                hit=timing(warm["times"][f"{layer} hit"]),
            )
            for layer, target in TARGETS_MS.items()
        ],
        cold_process=timing(command),
        peak_rss_bytes=int(warm["peak_rss_bytes"]),
        disk_bytes={
            "store": place.bytes(place.store),
            "words": place.bytes(place.words),
            "vectors": place.bytes(place.vectors),
        },
    )


def sample(queries: Sequence[str]) -> list[str]:
    """Up to `QUERIES` distinct queries, the same ones each time."""
    distinct = sorted({query for query in queries if query.strip()})
    picked = np.random.default_rng(SEED).permutation(len(distinct))[:QUERIES]
    return [distinct[i] for i in picked]


def timing(ms: Sequence[float]) -> Timing:
    """Percentiles, each a time that was really seen (the next higher one)."""
    p50, p95, p99 = (float(np.quantile(ms, q, method="higher")) for q in (0.5, 0.95, 0.99))
    return Timing(calls=len(ms), p50=p50, p95=p95, p99=p99)


def probe(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run `eval.probe` in a fresh process.

    Raises StoreError (it failed; the message carries its last line).
    """
    done = _run([sys.executable, "-m", "eval.probe"], json.dumps(request), os.environ)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _command_line(home: Path, query: str, settings: Settings) -> float:
    command = [sys.executable, "-m", "pipeline", "search", "--home", str(home), "--json", "--", query]
    environment = os.environ | {"GIEOK_EMBEDDER_MODEL": settings.embedder.model}  # the one that made the index
    began = time.perf_counter()
    done = _run(command, "", environment, accepted=(0, 1))  # 1: nothing found
    taken = (time.perf_counter() - began) * 1000
    if not done.stdout.startswith("{"):
        raise StoreError(f"gieok search answered no JSON: {(done.stdout or done.stderr).strip()[-200:]!r}")
    return taken


def _run(
    command: Sequence[str], given: str, environment: Mapping[str, str], accepted: Sequence[int] = (0,)
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, encoding="utf-8", env=environment, check=False
    )
    if done.returncode not in accepted:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise StoreError(f"The measured process {' '.join(command[1:4])} ended with {done.returncode}: {last}")
    return done


def _passages(place: Home) -> int:
    manifest = Manifest.read(place.vectors)
    return int(manifest.counts.get("vectors", 0)) if manifest is not None else 0
