"""Answers kept for a while, in memory, per process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from lru import LRU

T = TypeVar("T")


class TimedCache:
    """The most recently used `entries` answers, each for `seconds`. Safe for threads.

    A key must hold everything that changes the answer, the store's sequence among it: then a write makes older
    entries unreachable and nothing ever has to be invalidated.
    """

    def __init__(self, entries: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """No entries or no seconds: a cache that keeps nothing."""
        self._lru: Any = LRU(entries) if entries > 0 and seconds > 0 else None
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        """The kept answer for `key`, else a new one from `make`."""
        now = self._clock()
        if self._lru is not None:
            with self._lock:
                kept = self._lru.get(key)
                if kept is not None and now - kept[0] < self._seconds:
                    self.hits += 1
                    answer: T = kept[1]
                    return answer
        made = make()
        with self._lock:
            self.misses += 1
            if self._lru is not None:
                self._lru[key] = (now, made)
        return made

    def clear(self) -> None:
        """Drop all answers."""
        with self._lock:
            if self._lru is not None:
                self._lru.clear()

    def counts(self) -> tuple[int, int, int]:
        """Entries kept, answers given from them, answers that had to be made."""
        with self._lock:
            return (len(self._lru) if self._lru is not None else 0), self.hits, self.misses
