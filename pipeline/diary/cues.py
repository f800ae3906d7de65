"""Words by which a sentence shows what it is: an instruction, a decision with its reason, a mistake with its cause."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.plaintext import blocks, cut, fold

POINT = 200
"""Characters of a point: a line that is read at a glance."""
LOOKED_AT = 4_000
"""Characters of a message that are looked at: more is pasted text."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


RULE = _any(
    r"(?:하|쓰|넣|만들|바꾸|지우|건드리|올리|돌리)지\s?(?:마|말)",
    r"[가-힣]지\s?(?:마(?:라|세요|요)?(?=[\s.!,]|$)|말(?:고|아|라|자|것))",
    r"(?:^|\s)(?:항상|반드시|절대로?|무조건|앞으로는?|다음부터는?|꼭)(?=\s)",
    r"(?:^|[,.;:!]\s|\b(?:please|and|but|so|then|also|just)\s)(?:don'?t|do not|never|always)\b",
    r"\b(?:must not|mustn't|must (?:always|never)|should (?:always|never)|from now on|make sure|no need to)\b",
)
"""An instruction that stands in any message, the first one, too."""

CORRECTION = _any(
    r"^\s*아니(?=[\s,.!]|야|요|고|지|$)",
    r"그게\s?아니|이게\s?아니|아니라(?=[\s,])|말고(?=[\s,.]|$)|대신(?=[\s,에])",
    r"잘못(?:됐|했|된)|틀렸|빠졌|빠뜨|다시\s?(?:해|고쳐|써|작성|만들)|되돌려|원래대로",
    r"(?:고쳐|바꿔|빼|지워|옮겨|줄여|나눠)\s?(?:줘|주세요|라|봐|야)|해야\s?(?:해|한다|하지|돼|된다|합니다)",
    r"^\s*(?:no|nope|wait|hmm)\b[,. ]",
    r"\b(?:actually|instead|rather than|not what|wrong|revert|undo|stop|prefer|you forgot|you missed|that'?s not)\b",
    r"\b(?:should(?:n'?t)?(?: not| be| also| only| have)?|would (?:like|rather|prefer)|i'?d (?:like|rather|"
    r"prefer))\b",
    r"\b(?:needs? to|has to|have to) be\b",
)
"""A correction of what was done, in a message that answers it."""

DECISION = _any(
    r"[가-힣]기로\s?(?:했|한다|함|하자|합니다|결정)|[로으]로\s?(?:결정|정했|정한다|확정|통일|간다|가자|가기로|하자|"
    r"하겠)|결정했|채택(?:했|한다|함)|택했|선택했|하는 것으로",
    r"(?:니까|므로|때문에)\s.*(?:할게|하자|한다|하겠|합시다|쓴다|쓰자|둔다|두자)",
    r"\b(?:(?:we|i|have|has|was|were|been)\s+(?:\w+ )?decided|decision(?: is| was|:)|went with|going with|"
    r"(?:we|i)(?:'ll| will) go with|let'?s (?:go with|use|keep))\b",
    r"\b(?:i|we) (?:chose|opted|picked|settled on)\b|\b(?:chose|opted for|settled on)\b",
)
REASON = _any(
    r"때문|이유(?:는|:|로)|왜냐|[이여아어]서\.?$|니까|므로|위해",
    r"\b(?:because|since|so that|due to|reason|to avoid|in order to|as it|which means|otherwise)\b",
)
MISTAKE = _any(
    r"실수|(?:제가|내가)\s?(?:빠뜨|놓쳤|잘못)|잘못\s?(?:했|된|썼|봤|알|이해|짚)|깜빡|(?:문제|오류|버그|"
    r"실패)의?\s?원인(?:은|:|이)|원인(?:은|:)\s",
    r"\b(?:my mistake|my bad|my error|i (?:was|got it|made it) wrong|i made an? (?:mistake|error)|i (?:forgot|"
    r"missed|overlooked|misread|misunderstood))\b",
    r"\b(?:root cause|the (?:real |actual |main )?(?:issue|problem|bug|culprit) (?:is|was)\b(?! how| to|"
    r" clear| now| fixed| resolved| gone| solved)|(?:was|is|were) caused by|the failure (?:is|was))",
    r"\bfixed (?:the|a|an|by|it)\b",
)
REFUSED = re.compile(
    r"(?:the )?user (?:doesn'?t want|rejected|declined)|user (?:doesn't|does not) want to (?:proceed|take)",
    re.IGNORECASE,
)

_END = re.compile(r"(?<=[^\s\d.][.!?。！？…])[\"'”’)\]]?\s+(?=\S)|(?<=[다요죠까함음])\.?\n")
_LETTERS = re.compile(r"[^\W\d_]")
_HANGUL = re.compile(r"[가-힣]")
_LOG_LINE = re.compile(r"^\s*(?:---|\+\+\+|>|\$|\d{4}-\d\d-\d\d[T ]|at |File \"|FAIL|ok\s|PASS|=+)|^\s*\S+:\d+:")
_QUESTION = re.compile(r"[?？][\"'”’)\s]*$")


def sentences(text: str) -> list[str]:
    """The sentences of a message that people or agents wrote, plain, without code, tables and lines of logs."""
    found: list[str] = []
    for block in blocks(text[:LOOKED_AT]):
        if block.kind == "text":
            lines = [line for line in block.text.split("\n") if not _LOG_LINE.match(line)]
            found += filter(says_something, map(fold, _END.split("\n".join(lines))))
    return found


def says_something(text: str) -> bool:
    """Whether a line is more than "yes", "ㅇㅇ" or a number."""
    return len(text.split()) >= 2 and (len(_HANGUL.findall(text)) >= 3 or len(_LETTERS.findall(text)) >= 10)


def is_question(text: str) -> bool:
    """Whether a sentence asks."""
    return _QUESTION.search(text) is not None


def with_reason(told: list[str], marker: re.Pattern[str], reason: re.Pattern[str] = REASON) -> Iterator[str]:
    """The sentences that carry `marker`, each with the one after it if that gives the reason."""
    skip = -1
    for number, sentence in enumerate(told):
        if number == skip or is_question(sentence) or not marker.search(sentence):
            continue
        following = told[number + 1] if number + 1 < len(told) else ""
        if not reason.search(sentence) and reason.search(following) and not is_question(following):
            both = f"{sentence} {following}"
            if len(both) <= POINT:
                skip = number + 1
                yield both
                continue
        yield cut(sentence, POINT)
