"""What `make bench` says about its rows: growth, ratios, regressions, the page and its plots."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import results_page
from results import ROWS_VARIABLE, Point, points_of, regressions, report, rows_of, slope
from results_plots import svg


def saves(factor: float = 1.0) -> list[Point]:
    return [
        Point("growth", "save", size, value * factor, "ms", beside=("bare fsyncs", 8.0), goal=20)
        for size, value in ((200, 15.0), (2_000, 14.0), (20_000, 16.0))
    ]


def linear() -> list[Point]:
    return [
        Point("growth", "list", size, size / 100, "ms", goal=150) for size in (200, 2_000, 20_000)
    ]


def test_reports_of_a_script_become_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows"
    monkeypatch.setenv(ROWS_VARIABLE, str(file))
    monkeypatch.setenv("MEMORYD_BENCH_SCRIPT", "recall")
    for size, value in ((2_000, 0.8), (200, 0.5), (2_000, 0.7)):
        report("recall p50", size, value, "ms", beside=("SQLite FTS5", 2.2), goal=1.5)
    [row] = rows_of(points_of(file.read_bytes().splitlines()))
    assert (row.script, row.name) == ("recall", "recall p50")
    assert [(point.size, point.value) for point in row.points] == [(200, 0.5), (2_000, 0.7)]


def test_a_script_alone_reports_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report("recall p50", 200, 0.8, "ms")
    assert list(tmp_path.glob("*.jsonl")) == []


def test_a_line_that_is_not_a_row_is_left_out() -> None:
    assert points_of([b"", b"{", b'{"name": 1}', b"\xff"]) == []


@pytest.mark.parametrize(
    ("exponent", "expected"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (2.0, 2.0), (-1.0, -1.0)]
)
def test_the_slope_is_the_exponent(exponent: float, expected: float) -> None:
    found = slope([(size, 3 * size**exponent) for size in (100, 1_000, 10_000)])
    assert found == pytest.approx(expected)


def test_one_size_and_zero_have_no_slope() -> None:
    assert slope([(100, 3.0)]) is None
    assert slope([(0, 3.0), (100, 3.0)]) is None
    assert slope([(10, 0.0), (100, 3.0)]) is None


def test_a_ratio_that_is_a_third_worse_is_said() -> None:
    assert regressions(saves(), saves(1.3)) == []
    said = regressions(saves(), saves(1.4))
    assert len(said) == 3
    assert said[0] == "save at 200 memories: 1.88 -> 2.62 of the baseline"


def test_a_slower_machine_is_not_a_regression() -> None:
    slower = [
        Point("growth", "save", p.size, p.value * 5, "ms", beside=("bare fsyncs", 40.0))
        for p in saves()
    ]
    assert regressions(saves(), slower) == []
    assert regressions(linear(), [Point("growth", "list", 200, 20.0, "ms")]) == []


def test_fewer_megabytes_a_second_are_worse_and_more_are_not() -> None:
    def reading(rate: float) -> list[Point]:
        beside = ("json.loads", 300.0)
        return [Point("transcripts", "read", 1, rate, "MB/s", beside=beside, more_is_better=True)]

    assert len(regressions(reading(60), reading(40))) == 1
    assert regressions(reading(60), reading(90)) == []


def test_a_count_is_compared_without_a_baseline() -> None:
    was = [Point("idle", "at rest", 0, 0.3, "wake-ups")]
    assert len(regressions(was, [Point("idle", "at rest", 0, 0.6, "wake-ups")])) == 1


def test_the_page_says_growth_ratio_and_goal_and_can_be_read_again() -> None:
    rows = rows_of([*saves(), *linear()])
    text = results_page.page(rows, "2 cores", "2026-01-01")
    assert "| save | 15 ms | 14 ms | 16 ms | 0.01 | bare fsyncs: 8 / 8 / 8, slope 0.00" in text
    assert "20, met" in text
    assert "150, missed at 20,000" in text
    assert "(plots/growth.svg)" in text
    assert rows_of(results_page.points_in(text)) == rows


def test_a_page_without_rows_or_with_garbage_compares_with_nothing(tmp_path: Path) -> None:
    assert results_page.read(tmp_path / "RESULTS.md") == []
    assert results_page.points_in("# Results\n") == []
    assert results_page.points_in(f"{results_page.DATA_BEGINS}\nnonsense\n") == []


def test_a_run_of_some_keeps_the_rows_of_the_others() -> None:
    idle = Point("idle", "at rest", 0, 0.3, "wake-ups")
    old, new = [*saves(), idle], saves(2.0)
    rows = results_page.merged(old, new)
    assert [row.script for row in rows] == ["growth", "idle"]
    assert rows[0].points == tuple(new)


def test_the_machine_is_described_and_not_named() -> None:
    import platform

    line = results_page.machine()
    assert "cores" in line
    assert "Python 3" in line
    assert not platform.node() or platform.node() not in line


def test_a_plot_is_one_svg_with_a_panel_for_each_row_that_grows() -> None:
    one_size = Point("growth", "once", 200, 1.0, "ms")
    hostile = [Point("growth", "<b>&", size, 1.0, "ms") for size in (1, 10)]
    picture = ET.fromstring(svg(rows_of([*saves(), *linear(), one_size, *hostile])))  # noqa: S314 - our own text
    panels = picture.findall("{http://www.w3.org/2000/svg}g")
    assert len(panels) == 3
    lines = picture.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 4, "a baseline has a line of its own"


def test_a_plot_of_nothing_is_still_a_picture() -> None:
    assert ET.fromstring(svg([])).tag.endswith("svg")  # noqa: S314 - our own text
