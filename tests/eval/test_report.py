from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from eval import charts, schema
from eval.datasets import Problem
from eval.machine import this_machine
from eval.measures import MEASURES
from eval.reading import Reading, row
from eval.report import write_report
from eval.significance import Comparison, Interval
from eval.tokens import EstimatorError
from indexes.errors import SourceError

SETS = ("notes_ko", "sessions_en")
SYSTEMS = ("words", "vectors", "rrf", "default")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def figures(start: float) -> dict[str, dict[str, float]]:
    return {
        system: {measure: start + i / 10 + j / 100 for j, measure in enumerate(MEASURES)}
        for i, system in enumerate(SYSTEMS)
    }


def interval(mean: float) -> Interval:
    return Interval(mean, mean - 0.04, mean + 0.04)


def run_file() -> schema.RunFile:
    sets = {name: figures(0.3 + i / 10) for i, name in enumerate(SETS)}
    return schema.RunFile(
        machine=this_machine(),
        seconds=12,
        split="test",
        settings={"fusion.k": "10"},
        sets=sets,
        macro=figures(0.35),
        intervals={
            name: {s: interval(v["nDCG@10"]) for s, v in each.items()}
            for name, each in [*sets.items(), ("macro", figures(0.35))]
        },
        tests={name: [Comparison("default", "rrf", interval(0.1), 0.01, 0.03)] for name in (*SETS, "macro")},
        corpora={name: schema.Corpus(documents=10, queries=5, index="k", indexing_seconds=1) for name in SETS},
        problems={SETS[0]: [Problem("empty <queries>", 1, ("q&1",), "they count 0")]},
        reliability=[schema.Bin(count=40, score=0.9, relevant=0.8), schema.Bin(count=4, score=0.5, relevant=0.4)],
        worst=[
            schema.Miss(
                set=SETS[0],
                query_id="q",
                query="<b>배포</b>",
                value=0,
                relevant=["a"],
                ranks={"words": None, "default": 12},
                top=["b"],
            )
        ],
    )


def compare_file() -> schema.CompareFile:
    readings = [Reading(10, 500, (900,) * 10, (950,) * 10, (9,) * 10, (False, True) + (False,) * 8, 1)] * 3
    made = row("notes_ko, top 10", readings, how="all")
    return schema.CompareFile(
        machine=this_machine(),
        seconds=3,
        split="test",
        strategy="score order",
        encoding="o200k_base",
        sets={"notes_ko": [made]},
        scenarios=[row("10 results, 2 relevant", readings, how="fitting", claimed=(10_000, 1_200))],
        estimator={"notes_ko": EstimatorError(3, 100, 96, -0.04, 0.05, 0.1)},
        corpora={},
        problems={},
    )


def latency_file() -> schema.LatencyFile:
    def timing(ms: float) -> schema.Timing:
        return schema.Timing(calls=10, p50=ms, p95=ms * 1.5, p99=ms * 2)

    layers = [
        schema.LayerTiming(layer=n, target_ms=target, cold=timing(600), miss=timing(8), hit=timing(0.05))
        for n, target in ((1, 100), (2, 200), (3, 500))
    ]
    row_ = schema.LatencyRow(
        name="grown to 10,000",
        memories=10_000,
        passages=12_000,
        how="grown",
        layers=layers,
        cold_process=timing(900),
        peak_rss_bytes=250_000_000,
        disk_bytes={"store": 10**7, "words": 10**6, "vectors": 10**7},
    )
    return schema.LatencyFile(machine=this_machine(), seconds=60, corpora=[row_])


def fusion_file() -> schema.FusionFile:
    point = schema.FusionPoint(k=10, depth=50, words_weight=0.5, vectors_weight=1)
    by_set = {name: {"rrf": 0.6, "present": 0.62, "chosen": 0.65} for name in (*SETS, "macro")}
    return schema.FusionFile(
        machine=this_machine(),
        seconds=5,
        searched=700,
        chosen=point,
        present={"fusion.order": "evidence"},
        dev=by_set,
        held_out=dict.fromkeys(SETS, 0.64),
        grid=[(point, 0.65)],
        test=by_set,
        intervals={s: interval(v) for s, v in by_set["macro"].items()},
        tests=[Comparison("chosen", "rrf", interval(0.05), 0.001, 0.003)],
        problems={},
    )


def mine_file() -> schema.MineFile:
    ms = schema.Timing(calls=9, p50=1, p95=2, p99=3)
    rows = {
        "gieok": schema.MineRow(queries=9, first=0.8, in_ten=1, ms=ms),
        "grep": schema.MineRow(queries=9, first=0, in_ten=0.3, ms=ms),
    }
    return schema.MineFile(
        machine=this_machine(),
        seconds=2,
        home="/home/me",
        memories=50,
        with_vectors=50,
        sampled=9,
        seed=1,
        kinds={"spacing changed": rows},
    )


FILES: dict[str, schema.ResultFile] = {
    "run": run_file(),
    "compare": compare_file(),
    "latency": latency_file(),
    "fusion": fusion_file(),
    "mine": mine_file(),
}


@pytest.fixture
def report(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        schema.write(tmp_path, name, content)
    return write_report(tmp_path)


class Page(HTMLParser):
    """Sections with their charts' marks, and every address on the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.marks: dict[str, int] = {}
        self.addresses: list[str] = []
        self._section = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [given[name] or "" for name in ("src", "href") if name in given]
        if tag == "section":
            self._section = given["id"] or ""
            self.marks[self._section] = 0
        if "mark" in (given.get("class") or "").split():
            self.marks[self._section] += 1


def test_each_file_is_a_section_with_a_mark_for_each_figure(report: Path) -> None:
    page = Page(report.read_text(encoding="utf-8"))
    # run: 3 groups of 4 bars and 2 points; compare: 2 pairs; latency: 3 layers x 3; fusion: 3 groups of 3; mine: 1 pair
    assert page.marks == {"run": 14, "compare": 4, "latency": 9, "fusion": 9, "mine": 2}


def test_the_page_needs_nothing_else(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert Page(text).addresses == []
    assert not re.search(r"https?:|@import|url\(|<script", text)
    assert "prefers-color-scheme: dark" in text


def test_what_queries_say_is_text_and_not_markup(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "<b>배포</b>" not in text
    assert "&lt;b&gt;배포&lt;/b&gt;" in text
    assert "empty &lt;queries&gt;: 1 (q&amp;1)" in text
    assert "<summary>1 worst queries</summary>" in text


def test_savings_stand_beside_the_evidence_of_both_sides(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert re.search(r"evidence 100% → 100%", text)
    assert "10,000 → 1,200" in text


def test_the_machine_is_named_in_every_section(report: Path) -> None:
    assert report.read_text(encoding="utf-8").count(str(this_machine())) >= len(FILES)


def test_run_json_has_the_promised_shape(report: Path) -> None:
    written = json.loads((report.parent / "run.json").read_text(encoding="utf-8"))
    assert set(written["sets"]) == set(SETS)
    assert list(written["sets"]["notes_ko"]) == list(SYSTEMS)
    assert list(written["sets"]["notes_ko"]["default"]) == ["nDCG@10", "R@5", "R@10", "Success@1", "RR"]


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_back_as_written(tmp_path: Path, name: str) -> None:
    schema.write(tmp_path, name, FILES[name])
    assert schema.read(tmp_path, name, type(FILES[name])) == FILES[name]


def test_a_file_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"sets": {}}', encoding="utf-8")
    with pytest.raises(SourceError, match=r"run.json: not a file of this version"):
        write_report(tmp_path)


def test_a_folder_without_figures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no figures"):
        write_report(tmp_path)


def test_a_bar_is_as_high_as_its_value() -> None:
    svg = charts.columns("t", [charts.Group("g", [charts.Bar("a", 0.25), charts.Bar("b", 0.5)])])
    low, high = (float(h) for h in re.findall(r'<rect class="mark [ab]"[^>]* height="([0-9.]+)"', svg))
    assert high == pytest.approx(2 * low, abs=0.1)


def test_a_layer_over_its_target_is_marked() -> None:
    items = [charts.Span("fast", 1, 2, 300, 100), charts.Span("slow", 1, 101, 102, 100)]
    assert re.findall(r'class="mark (\w+)"', charts.spans("t", items, unit="ms")) == ["met", "missed"]


@pytest.mark.skipif(CHROMIUM is None, reason="no browser; install one with: apt-get install chromium")
def test_a_browser_shows_the_charts(report: Path, tmp_path: Path) -> None:
    """The page reports what it has laid out: a script, added to a copy, measures every mark on the screen."""
    probe = """<script>
      const errors = [];
      window.onerror = message => errors.push(message);
      window.onload = () => {
        document.querySelectorAll("details").forEach(fold => fold.open = true);
        const seen = {};
        for (const section of document.querySelectorAll("section")) {
          const marks = [...section.querySelectorAll("svg .mark")];
          const boxes = marks.map(mark => mark.getBoundingClientRect());
          seen[section.id] = {
            shown: boxes.filter(box => box.width > 0.5 && box.height > 0.5 && box.right <= innerWidth + 1).length,
            colours: new Set(marks.map(mark => getComputedStyle(mark).fill)).size,
            wide: Math.min(...[...section.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect().width)),
          };
        }
        document.title = JSON.stringify({errors, seen, scroll: document.documentElement.scrollWidth - innerWidth});
      };
    </script></head>"""
    copy = tmp_path / "probed.html"
    copy.write_text(report.read_text(encoding="utf-8").replace("</head>", probe), encoding="utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=1100,900",
            "--virtual-time-budget=2000",
            "--dump-dom",
            copy.as_uri(),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title is not None, done.stdout[:500] + done.stderr[-500:]
    found = json.loads(title.group(1))
    assert found["errors"] == []
    assert {name: part["shown"] for name, part in found["seen"].items()} == {
        "run": 14,
        "compare": 4,
        "latency": 9,
        "fusion": 9,
        "mine": 2,
    }
    assert found["seen"]["run"]["colours"] == 4
    assert all(part["wide"] > 600 for part in found["seen"].values())
    assert found["scroll"] <= 0
