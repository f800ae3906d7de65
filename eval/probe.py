"""A fresh process that measures the product and nothing else: run by `latency`, one JSON object in, one out.

`python -m eval.probe` reads `{"home", "settings", "mode", "queries", "ids"}` on its standard input. Mode `cold`
answers `{"ms"}`: loading the product, opening the store and the first call, for the layer named by `layer`. Mode
`warm` answers milliseconds per layer for the first asking of each query and for the second, and the process's peak
memory. Times are `perf_counter`, so that a clock that is set meanwhile changes nothing.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any


def cold(home: str, settings: dict[str, Any], layer: int, query: str, memory_id: str) -> dict[str, Any]:
    """Milliseconds from the first import to the first answer."""
    began = time.perf_counter()
    from pipeline import Gieok, Settings

    with Gieok.open(home, Settings.model_validate(settings)) as gieok:
        if layer == 1:
            gieok.search_index(query)
        elif layer == 2:
            gieok.get_timeline([memory_id])
        else:
            gieok.get_details([memory_id])
        return {"ms": (time.perf_counter() - began) * 1000}


def warm(home: str, settings: dict[str, Any], queries: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of each layer, asked for the first time (`miss`) and again (`hit`), in one process."""
    from pipeline import Gieok, Settings

    times: dict[str, list[float]] = {f"{layer} {kind}": [] for layer in (1, 2, 3) for kind in ("miss", "hit")}
    with Gieok.open(home, Settings.model_validate(settings)) as gieok:
        gieok.search_index(queries[0] + " warm")  # loads the model and maps the files; not counted
        seen: set[str] = set()
        for query in queries:
            hits = _twice(times, 1, partial(gieok.search_index, query))
            top = next((hit.id for hit in hits if hit.id not in seen), None)
            if top is not None:
                seen.add(top)
                _twice(times, 2, partial(gieok.get_timeline, [top]))
                _twice(times, 3, partial(gieok.get_details, [top]))
    return {"times": times, "peak_rss_bytes": peak_rss()}


def _twice(times: dict[str, list[float]], layer: int, call: Callable[[], Any]) -> Any:
    for kind in ("miss", "hit"):
        began = time.perf_counter()
        answer = call()
        times[f"{layer} {kind}"].append((time.perf_counter() - began) * 1000)
    return answer


def peak_rss() -> int:
    """Peak resident memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Read the request, measure, write the answer."""
    request = json.load(sys.stdin)
    mode = request.pop("mode")
    answer = cold(**request) if mode == "cold" else warm(**request)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
