"""The bundled model on ONNX Runtime and its tokenizer alone.

fastembed does the same for any model of its list, but importing it (a client of the hub, image models) takes half
of the time that a person waits for a search. A test holds both to the same vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tokenizers import AddedToken, Tokenizer

from indexes.ahead import BUNDLED_FOLDER, session, taken
from indexes.types import Floats


class BundledModel:
    """What `FastEmbedder` uses of an engine. `threads` are for one inference (all cores if None).

    Raises whatever ONNX Runtime, the tokenizer or a missing file do.
    """

    def __init__(self, threads: int | None) -> None:
        with ThreadPoolExecutor(1) as beside:  # each takes about a tenth of a second
            tokenizer = beside.submit(_tokenizer)
            self._session = taken(threads) or session(threads)
            self._tokenizer = tokenizer.result()
        self._inputs = {node.name for node in self._session.get_inputs()}

    def token_count(self, texts: Sequence[str]) -> int:
        """Tokens of all texts, as the model reads them: cut at its bound, without padding."""
        return sum(sum(encoding.attention_mask) for encoding in self._tokenizer.encode_batch(list(texts)))

    def embed(self, texts: Sequence[str], batch_size: int) -> Iterator[Floats]:
        """A vector for each text; the graph pools and normalises."""
        for start in range(0, len(texts), batch_size):
            encoded = self._tokenizer.encode_batch(list(texts[start : start + batch_size]))
            ids = np.array([encoding.ids for encoding in encoded], np.int64)
            given = {
                "input_ids": ids,
                "attention_mask": np.array([encoding.attention_mask for encoding in encoded], np.int64),
                "token_type_ids": np.zeros_like(ids),
            }
            vectors: Floats = self._session.run(None, {name: given[name] for name in self._inputs})[0]
            yield from vectors

    query_embed = passage_embed = embed


def _tokenizer() -> Tokenizer:
    config = json.loads((BUNDLED_FOLDER / "tokenizer_config.json").read_bytes())
    special = json.loads((BUNDLED_FOLDER / "special_tokens_map.json").read_bytes())
    tokenizer = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
    tokenizer.enable_truncation(config["model_max_length"])
    for token in special.values():
        tokenizer.add_special_tokens([AddedToken(**token) if isinstance(token, dict) else token])
    pad = config["pad_token"]
    tokenizer.enable_padding(
        pad_token=pad, pad_id=json.loads((BUNDLED_FOLDER / "config.json").read_bytes())["pad_token_id"]
    )
    return tokenizer
