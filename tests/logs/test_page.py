"""The page about a log, its figure, and the demo: what is in them, and for which logs."""

import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("jinja2")

from driftduel.cli import main
from driftduel.logs import counts_from_votes, fit, votes_of
from driftduel.logs.calibration import calibration
from driftduel.logs.charts import bars, span_of, time_axis, winner_areas
from driftduel.logs.demo import DEMO_CHANGES, NAMES, write_demo
from driftduel.logs.page import _reigns_that_count, write_page
from driftduel.logs.reading import Log, RowProblem, read_log
from driftduel.logs.strength import OptionStrengths, strengths
from driftduel.logs.ticks import time_ticks
from driftduel.worlds import Piecewise

SECTIONS = (
    "winner", "changes", "strength", "eras", "calibration", "evaluation", "limitations", "measures",
    "about",
)  # fmt: skip
TEA = [[0.5, 0.4, 0.2], [0.6, 0.5, 0.25], [0.8, 0.75, 0.5]]
GIN = [[0.5, 0.25, 0.45], [0.75, 0.5, 0.8], [0.55, 0.2, 0.5]]
HOSTILE = ("<script>alert(1)</script>", "{{7*7}}", '"><img src=x onerror=y>')


def log_of(world, names=None, seed=1, **more):
    votes = votes_of(world, seed)
    counts = counts_from_votes(**votes, names=names, bins=64, clock="number")
    return Log(counts, counts.votes, **more)


@pytest.fixture(scope="module")
def changing():
    log = log_of(
        Piecewise([TEA, GIN], [1, 1001], 2000),
        HOSTILE,
        skipped={"the winner is <b>nobody</b>": 2},
        problems=(RowProblem(7, "the winner is <b>nobody</b>", {"<i>": "</td>"}),),
        left_out={"<u>rare</u>": 1},
        notes=("A note about <em>times</em>.",),
    )
    return log, fit(log.counts, "utilities")


@pytest.fixture(scope="module")
def page(changing, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "new" / "folder"
    path = write_page(*changing, out, title="<log>.csv", policies=False)
    return path.read_text(encoding="utf-8")


def sections_of(page):
    return re.findall(r'<section id="([a-z]+)">', page)


def test_the_page_has_every_section(page):
    assert tuple(sections_of(page)) == SECTIONS
    assert page.count('class="panel ') == 3
    assert page.count('<table class="heat">') == 2
    assert page.count('class="bar switch"') == 1 + 3  # over the winners, and over each strength


def test_the_page_compares_forecasts_with_ratings(page):
    section = page[page.index('id="evaluation"') : page.index('id="limitations"')]
    for model in ("driftduel", "static Bradley-Terry", "decayed Bradley-Terry", "Elo"):
        assert f'<td class="who">{model}</td>' in section


def test_too_few_votes_to_predict_are_reported_on_the_page(tmp_path):
    log = log_of(Piecewise([TEA], [1], 150))
    path = write_page(log, fit(log.counts, "utilities"), tmp_path, policies=False)
    assert "Forecasts are not compared: 150 votes are too few" in path.read_text("utf-8")


def test_the_page_fetches_nothing_and_no_name_becomes_a_tag(page):
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    for tag in ("<script>alert", "<img", "<b>", "<i>", "<u>", "<em>", "<log>"):
        assert tag not in page
    assert "{{7*7}}" in page
    assert "&lt;script&gt;alert(1)" in page


def test_every_drawing_says_what_it_shows(page):
    for drawing in re.findall(r"<svg.*?</svg>", page, re.S):
        label = re.search(r'aria-labelledby="(\S+) (\S+)"', drawing)
        if label is None:
            assert 'aria-label="' in drawing
        else:
            assert all(f'id="{name}"' in drawing for name in label.groups())
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_what_makes_no_sense_is_shown(page):
    limits = page[page.index('id="limitations"') : page.index('id="measures"')]
    assert "2 of 2,000 rows are invalid" in limits
    assert "&lt;u&gt;rare&lt;/u&gt;" in limits
    assert "With phi 1.50 it would be 1, and" in limits
    assert ">7</td>" in limits


def test_areas_add_up_and_are_steps(changing):
    _, found = changing
    areas = winner_areas(found, time_axis(found))
    corners = [re.findall(r"(-?[\d.]+) (-?[\d.]+)", area["path"]) for area in areas]
    for points in corners:
        for (x, y), (x2, y2) in pairwise(points):
            assert x == x2 or y == y2  # an edge goes along or up, never aslant
    top = min(float(y) for points in corners for _, y in points)
    bottom = max(float(y) for points in corners for _, y in points)
    assert (top, bottom) == (0, 100)


def test_a_log_of_one_moment_is_drawn_as_wide_as_any():
    counts = counts_from_votes([0, 1, 0, 1] * 10, [1, 2, 2, 0] * 10, [1, 1, 1, 0] * 10, [5.0] * 40)
    found = fit(counts, "utilities")
    (area, *_) = winner_areas(found, time_axis(found))
    assert area["path"].startswith("M0.00")
    assert "L100.00" in area["path"]


def test_a_lead_while_all_is_open_is_no_reign():
    leader = np.array([0.9, 0.44, 0.8, 0.3, 0.6])
    chances = np.stack((leader, 0.9 - leader, np.full(5, 0.1)), axis=1)

    def begins(changes=(), rows=chances):
        fake = SimpleNamespace(winners=rows, changes=changes)
        return _reigns_that_count(fake, rows.argmax(axis=1), np.arange(len(rows) + 1))

    assert begins() == [0, 3, 4]
    change = SimpleNamespace(low=0, high=1, reported=True, new_winner=True)
    assert begins([change]) == [0, 1, 2, 3, 4]
    change.reported = False
    assert begins([change]) == [0, 3, 4]
    assert begins(rows=chances[:3]) == [0, 1, 2]  # the headline says since when the last one leads


def test_brackets_hold_their_change(changing):
    _, found = changing
    (bar,) = bars(found.changes, time_axis(found))
    assert bar["low"] <= bar["at"] <= bar["high"]
    assert bar["winner"]
    assert bar["at"] == pytest.approx(50, abs=4)


def test_strengths_are_those_of_the_world(changing):
    _, found = changing
    lines = strengths(found)
    truth = [(np.array(P).sum(axis=1) - 0.5) / 2 for P in (TEA, GIN)]
    for place, true in zip((0, -1), truth, strict=True):
        assert lines.mean[place] == pytest.approx(true, abs=0.06)
        assert (lines.low[place] < lines.mean[place]).all()
        assert (lines.mean[place] < lines.high[place]).all()
    assert (np.diff(lines.times) >= 0).all()
    walk = strengths(fit(found.counts, "walk"))
    assert walk.mean[-1] == pytest.approx(truth[1], abs=0.1)


@pytest.mark.parametrize(
    ("low", "high", "span"),
    [
        (0.62, 0.79, (0.6, 0.8)),
        (0.65, 0.68, (0.6, 0.8)),
        (0.0, 0.05, (0.0, 0.2)),
        (0.95, 1.0, (0.8, 1.0)),
        (1.0, 1.0, (0.8, 1.0)),
        (0.35, 0.6, (0.2, 0.6)),
        (0.0, 0.9, (0.0, 1.0)),
    ],
)
def test_the_scale_of_strengths_has_room_for_all(low, high, span):
    lines = OptionStrengths(*(np.array([[value]]) for value in (0.0, low, low, high)))
    assert span_of(lines) == pytest.approx(span)


def test_calibration_is_of_votes_not_seen(changing):
    _, found = changing
    table = calibration(found)
    assert sum(one.votes for one in table) == found.counts.votes
    assert sum(one.agrees for one in table) >= len(table) - 3
    for one in table:
        assert 0.5 <= one.predicted <= 1
        assert one.low <= one.won <= one.high
    # Coins predict nothing: who looked at the votes themselves would see favourites.
    coins = log_of(Piecewise([np.full((3, 3), 0.5)], [1], 300))
    table = calibration(fit(coins.counts, "utilities"))
    assert sum(one.predicted * one.votes for one in table) / 300 < 0.62
    assert sum(one.won * one.votes for one in table) / 300 < 0.58


@pytest.mark.parametrize(
    ("matrices", "names", "says"),
    [
        ([TEA], None, "No significant change was found."),
        ([[[0.5, 0.7], [0.3, 0.5]]], None, "0 is best now"),
        (
            [[[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]]],
            None,
            "No option beats every other now",
        ),
    ],
    ids=["no-change", "two-options", "nobody"],
)
def test_pages_of_other_logs(matrices, names, says, tmp_path):
    log = log_of(Piecewise(matrices, [1], 600), names)
    path = write_page(log, fit(log.counts, "pairs"), tmp_path, policies=False)
    text = path.read_text(encoding="utf-8")
    assert says in text
    assert tuple(sections_of(text)) == SECTIONS
    assert 'class="bar' not in text


def test_the_command_takes_counts_and_lets_policies_play(changing, tmp_path, capsys, monkeypatch):
    from driftduel.logs import posterior_worlds

    log, _ = changing
    log.counts.save(tmp_path / "counts.npz")
    small = posterior_worlds.compare_on_posterior
    monkeypatch.setattr(
        "driftduel.logs.page.compare_on_posterior",
        lambda found: small(found, ["uniform"], size=2, runs=1, rounds=200),
    )
    words = ["report", str(tmp_path / "counts.npz"), "--fit", "utilities", "--out"]
    assert main(["log", *words, str(tmp_path / "page")]) == 0
    assert "page:" in capsys.readouterr().out
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "policies" in sections_of(text)
    assert "the log's own pairs" in text or "the log&#39;s own pairs" in text


def test_a_page_needs_a_folder(changing, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    log, _ = changing
    log.counts.save(tmp_path / "counts.npz")
    words = ["report", str(tmp_path / "counts.npz"), "--no-policies", "--out"]
    assert main(["log", *words, str(tmp_path / "file")]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("low", "high", "clock", "expected"),
    [
        (0, 27 * 365.25, "date", ["1970", "1975", "1980", "1985", "1990", "1995"]),
        (0, 60, "date", ["01-01", "01-15", "01-29", "02-12", "02-26"]),
        (0, 6e9, "datetime", ["00:00", "00:15", "00:30", "00:45", "01:00", "01:15", "01:30"]),
        (0.0, 0.0, "number", ["0"]),
        (0, 9, "row", ["2", "4", "6", "8", "10"]),
        (0, 2, "date", ["01-01", "01-02", "01-03"]),
        (
            -1e9,
            1e9,
            "date",
            ["-1,000,000,000", "-500,000,000", "0", "500,000,000", "1,000,000,000"],
        ),
    ],
)
def test_ticks_are_times_that_people_name(low, high, clock, expected):
    ticks = time_ticks(low, high, clock)
    assert [text for _, text in ticks] == expected
    assert all(low <= time <= high for time, _ in ticks)


def test_the_figure_is_drawn(changing, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    log, _ = changing
    log.counts.save(tmp_path / "counts.npz")
    words = ["changes", str(tmp_path / "counts.npz"), "--fit", "utilities", "--plot"]
    assert main(["log", *words, str(tmp_path / "winners.svg")]) == 0
    picture = (tmp_path / "winners.svg").read_text(encoding="utf-8")
    assert picture.count("#b3002d") >= 2  # the change, and its bracket
    assert main(["log", *words, str(tmp_path / "winners.docx")]) == 2
    assert "a figure is written as" in capsys.readouterr().err


def test_the_demo_is_found_out(tmp_path):
    path = write_demo(tmp_path / "demo", seed=3)
    again = write_demo(tmp_path / "again", seed=3)
    assert path.read_bytes() == again.read_bytes()
    log = read_log(path)
    assert log.names == NAMES
    found = fit(log.counts, "utilities")
    days = [np.datetime64("1970-01-01") + int(change.time) for change in found.changes]
    assert len(days) == len(DEMO_CHANGES)
    for day, (truth, _) in zip(days, DEMO_CHANGES, strict=True):
        assert abs((day - np.datetime64(truth)).astype(int)) <= 3
    assert [change.after for change in found.changes] == ["Basil", "Basil", "Daisy"]


@pytest.mark.long
def test_the_demo_ends_with_the_truth(tmp_path, capsys):
    assert main(["log", "demo", "--out", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert "Daisy is best now" in out
    assert out.rstrip().endswith("2025-03-17  Daisy takes the lead from Basil.")
    assert (tmp_path / "demo" / "index.html").exists()
