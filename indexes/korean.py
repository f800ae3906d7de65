"""Word lists of Korean: endings that carry grammar, and words that carry little else."""

from __future__ import annotations

from functools import lru_cache

# Particles (조사) and endings (어미) that follow the part of a word that names something. Not a grammar: the list
# holds what occurs often at the end of words in notes and in questions, and is only ever used to weigh a query.
_ENDINGS = frozenset(
    """
    은 는 이 가 을 를 의 에 에서 에게 에게서 한테 께 께서 와 과 랑 이랑 도 만 로 으로 부터 까지 마다 처럼
    보다 밖에 조차 라고 이라고 라는 이라는 란 이란 이나 나 에는 에서는 에도 에서도 에만 에게는 으로는 로는
    으로도 로도 로써 으로써 로서 으로서 와의 과의 에서의 으로의 로의 까지의 부터의 만의 들 들은 들을 들이
    들의 들과 들에 들도 들에게 하고 하는 하여 해서 했다 한다 합니다 했습니다 된다 됩니다 되는 되어 돼서
    됐다 되었다 하게 하기 하면 하며 하지 하던 했던 했는데 하려면 하려고 하도록 해야 한 할 함 된 될 됨
    시키는 시킨 이다 입니다 인 이며 이고 이었다 였다 이었던 였던 인가 인가요 이었나 였나 인지 인데 일까
    일까요 이에요 예요 이야 야 했나 했나요 했어 했지 하나 하나요 할까 할까요 되나 되나요 됐나 됐나요 되었나
    되었나요 하였나 하였나요 하였다 해요 하죠 이죠 이지
    """.split()  # noqa: SIM905 - a list of words reads better as text
)
_LONGEST_ENDING = max(map(len, _ENDINGS))

# Words that a question is wrapped in ("지난번에 … 뭐였지?"), so that they say little about what is sought.
FILLERS = frozenset(
    """
    나 내 내가 나는 너 네가 우리 우리가 저 제가 그거 이거 저거 그것 이것 그때 그 이 뭐 뭐라고 뭐였지 뭐지
    뭐야 뭔가 무엇 무슨 어떤 어떻게 어디 어디서 언제 누가 누구 왜 얼마 몇 좀 혹시 다시 한번 번 지난번
    지난번에 전에 예전 예전에 이전 이전에 아까 방금 최근 이번 다음 알려 알려줘 알려줄래 말해 말해줘 보여
    보여줘 찾아 찾아서 찾아줘 설명해 설명해줘 설명 해줘 줘 줄래 주세요 있어 있나 있나요 있는 있을까 있었던
    있었는지 했었는지 했었지 했지 했던 하기로 하는 하고 해야 하는데 것 거 같은데 같은 대해 대한 관해 관련
    관련해서 관련된 때문에 위해 내용 이야기 이야기할 얘기 기억 기억나 기억해 정리 정리했지 부분 경우 문제
    방법 정도 때 수 적 좀더 그리고 그런데 하지만 그래서 작업 적이 적이있 알아 알고 싶어 궁금해 중에 중 더
    잘 모두 전부
    """.split()  # noqa: SIM905 - a list of words reads better as text
)


@lru_cache(maxsize=16_384)
def stem_length(word: str) -> int:
    """How many leading syllables of a Hangul word name something: without its longest known ending, at least two."""
    for length in range(min(_LONGEST_ENDING, len(word) - 2), 0, -1):
        if word[-length:] in _ENDINGS:
            return len(word) - length
    return len(word)


def is_filler(word: str) -> bool:
    """Whether the word, with or without its ending, says little about what is sought."""
    return word in FILLERS or word[: stem_length(word)] in FILLERS
