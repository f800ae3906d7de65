"""English: stop words, contractions and a light stem."""

from __future__ import annotations

import re
from functools import lru_cache

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by
    can could did do does doing done down each few for from had has have having he her here hers him his
    how i if in into is it its just like me more most my no nor not now of off on once only or other our
    ours out over own please same she should show so some such tell than that the their theirs them then
    there these they this those through to too under until up us very was we were what when where which
    while who whom why will with would you your yours arent cant couldnt didnt doesnt dont hadnt hasnt
    havent isnt shouldnt wasnt werent wont wouldnt
    """.split()  # noqa: SIM905 - a list of words reads better as text
)

_NEGATION = re.compile(r"(?<=[nN])['’](?=[tT]\b)")
_SUFFIX = re.compile(r"(?<=[A-Za-z])['’](?:s|re|ve|ll|d|m)\b", re.IGNORECASE)
_VOWEL = re.compile("[aeiouy]")


def join_contractions(text: str) -> str:
    """`don't` becomes `dont`; possessives and other contractions lose their tail (`user's`, `we'll`)."""
    if "'" in text or "’" in text:
        return _SUFFIX.sub("", _NEGATION.sub("", text))
    return text


@lru_cache(maxsize=65_536)
def light_stem(word: str) -> str:
    """The word without plural, `-ed`, `-ing`, `-ion` and a mute `e`; itself if short or not lower-case ASCII.

    Lighter than Porter's: what it joins are forms of one word, so that precision is kept.
    """
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    stem = _without_noun_ending(_without_verb_ending(_without_plural(word)))
    if len(stem) > 3 and stem[-1] == "e":
        return stem[:-1]
    if len(stem) > 2 and stem[-1] == "y" and stem[-2] not in "aeiou":
        return stem[:-1] + "i"
    return stem


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("xes", "ches", "shes")):
        return word[:-2]
    if word[-1] == "s" and word[-2] not in "sui":
        return word[:-1]
    return word


def _without_verb_ending(word: str) -> str:
    for ending in ("ing", "ied", "ed"):
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) >= 3 and _VOWEL.search(stem):
            if ending == "ied":
                return stem + "y"
            if stem[-1] == stem[-2] and stem[-1] not in "aeioulsz":
                return stem[:-1]
            return stem
    return word


def _without_noun_ending(word: str) -> str:
    # By length, for want of a dictionary: implement-ation, install-ation; but migrat-ion, validat-ion, as in migrate.
    if word.endswith("ation") and len(word) >= 12:
        return word[:-5]
    if word.endswith(("tion", "sion")) and len(word) >= 8:
        return word[:-3]
    return word
