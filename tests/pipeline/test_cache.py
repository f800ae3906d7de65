"""The cache: bounded in entries and time, and safe for threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pipeline.cache import TimedCache


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_is_made_once_until_its_time_is_up() -> None:
    clock, made = Clock(), []
    cache = TimedCache(10, 60, clock)
    for now, expected in ((0, 1), (59.9, 1), (60, 2), (61, 2)):
        clock.now = now
        assert cache.get_or_make("q", lambda: made.append(1) or len(made)) == expected
    assert (cache.hits, cache.misses) == (2, 2)


def test_the_least_recently_used_answer_goes_first() -> None:
    cache = TimedCache(2, 60, Clock())
    for key in ("a", "b", "a", "c"):
        cache.get_or_make(key, lambda key=key: key)
    misses = cache.misses
    cache.get_or_make("a", lambda: "again")
    assert cache.misses == misses  # a was used after b, so c took b's place
    assert cache.get_or_make("b", lambda: "again") == "again"


def test_a_cache_without_entries_or_time_keeps_nothing() -> None:
    for cache in (TimedCache(0, 60), TimedCache(10, 0)):
        assert [cache.get_or_make("q", lambda n=n: n) for n in (1, 2)] == [1, 2]


def test_threads_share_it() -> None:
    cache = TimedCache(5, 60)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: cache.get_or_make(n % 10, lambda: n % 10), range(2000)))
    assert answers == [n % 10 for n in range(2000)]
