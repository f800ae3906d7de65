"""From what a user typed to what is searched for."""

from __future__ import annotations

import re
import unicodedata

from pipeline.sources.injected import typed_by_user
from pipeline.sources.own import cut_own
from pipeline.sources.private import cut_private

HEAD, TAIL = 600, 400
"""Characters kept of a long prompt: what is asked stands before a paste or after it."""
_LOOKED_AT = 20_000
"""Characters at each end that are looked at at all."""
_WORDS_OF_ASSENT = """
ok okay k y yes yep yeah yup sure no n nope thanks thank you thx great good nice perfect cool right fine done lgtm go
ahead on continue proceed please do it that so next stop wait and then now let's lets
네 넵 넹 예 응 어 그래 그래요 좋아 좋아요 좋습니다 오케이 오키 ㅇㅇ ㅇㅋ ㅋㅋ ㅎㅎ ㄱㄱ ㄴㄴ
아니 아니요 고마워 고마워요 고맙습니다 감사 감사합니다 계속 계속해 계속해줘 계속하자 계속해주세요
진행 진행해 진행해줘 진행해주세요 그렇게 그대로 해 해줘 해주세요 하자 가자 다음 이제 완료 굿 됐어 맞아 맞아요
"""
_ASSENT = frozenset(_WORDS_OF_ASSENT.split())
"""Words of a prompt that only agrees, refuses or urges on: there is nothing to look for."""
_WORD = re.compile(r"[\w']+")
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(\s|$)")
_SPACE = re.compile(r"\s+")


def query_of(prompt: str) -> str:
    """What to search for, at most `HEAD` + `TAIL` characters; "" if nothing is to be ("/diary", "ok", space).

    Private parts, what the host wrote into the prompt and what we injected earlier are left out.
    """
    if len(prompt) > 2 * _LOOKED_AT:
        prompt = f"{prompt[:_LOOKED_AT]}\n{prompt[-_LOOKED_AT:]}"
    if _COMMAND.match(prompt.lstrip()):
        return ""
    text = typed_by_user(cut_own(cut_private(prompt)[0])[0])
    text = _SPACE.sub(" ", text).strip()
    words = _WORD.findall(unicodedata.normalize("NFC", text[:HEAD]).lower())
    if len(text) <= HEAD and all(word in _ASSENT for word in words):
        return ""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD].rsplit(' ', 1)[0]} {text[-TAIL:].split(' ', 1)[-1]}"
