from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.install import jsontext

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=5)
STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 1, 2, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":")]),
    }
)


@given(OBJECTS, STYLES, st.text(), JSON, st.booleans())
def test_a_member_that_is_put_in_and_taken_out_leaves_no_trace(
    value: dict[str, Any], style: dict[str, Any], key: str, new: Any, windows: bool
) -> None:
    value.pop(key, None)
    text = json.dumps(value, **style)
    if windows:
        text = text.replace("\n", "\r\n")
    longer = jsontext.insert(text, [], key, new)
    assert json.loads(longer) == {**value, key: new}
    assert list(json.loads(longer)) == [*value, key]
    assert jsontext.remove(longer, [key]) == text


@given(st.lists(JSON, max_size=4), STYLES, JSON, st.data())
def test_elements_of_a_list_inside(items: list[Any], style: dict[str, Any], new: Any, data: st.DataObject) -> None:
    text = json.dumps({"a": {"b": items}, "c": 1}, **style)
    longer = jsontext.insert(text, ["a", "b"], None, new)
    assert json.loads(longer)["a"]["b"] == [*items, new]
    assert jsontext.remove(longer, ["a", "b", len(items)]) == text
    if items:
        place = data.draw(st.integers(0, len(items) - 1))
        assert json.loads(jsontext.remove(text, ["a", "b", place]))["a"]["b"] == items[:place] + items[place + 1 :]


@given(OBJECTS, STYLES, st.text(), JSON)
def test_put_changes_one_value_and_no_order(value: dict[str, Any], style: dict[str, Any], key: str, new: Any) -> None:
    text = jsontext.put(json.dumps(value, **style), [], key, new)
    assert json.loads(text) == {**value, key: new}
    assert list(json.loads(text)) == list({**value, key: new})


def test_what_is_put_in_looks_like_its_neighbours() -> None:
    text = '{\n\t"a": {\n\t\t"x": 1.50\n\t},\n\t"b": [1, 2]\n}\n'
    assert jsontext.insert(text, ["a"], "y", {"z": []}) == text.replace(
        "1.50\n", '1.50,\n\t\t"y": {\n\t\t\t"z": []\n\t\t}\n'
    )
    assert jsontext.insert(text, ["b"], None, 3) == text.replace("2]", "2, 3]")


def test_of_a_doubled_key_the_last_one_counts_and_the_other_stays() -> None:
    text = '{"a": {"x": 1}, "a": {}}'
    assert jsontext.parse(text) == {"a": {}}
    assert jsontext.insert(text, ["a"], "y", 2).startswith('{"a": {"x": 1}, "a": {')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": 1,}',
        '{"a": 1} // x',
        "/* x */ {}",
        "{'a': 1}",
        '{"a": NaN}',
        "[" * 100_000,
        '{"a": "\n"}',
        "{} {}",
    ],
)
def test_what_is_no_json_is_refused_on_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        jsontext.parse(text)


def test_a_number_of_any_length_is_left_alone() -> None:
    text = '{"a": ' + "7" * 5000 + ', "b": 1e400}'
    assert jsontext.remove(jsontext.insert(text, [], "c", 1), ["c"]) == text
