"""Results as people meet them: printed, in a notebook, and as figures."""

import math
import re
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from scipy import stats

from driftduel._internal.wording import margin
from driftduel.errors import DriftduelError
from driftduel.lab import compare, make_plan
from driftduel.lab.tables import as_text
from tests.lab.helpers import WORLD


@pytest.fixture(scope="module")
def found():
    return compare(["uniform", "dts", "anaconda:constant=0.5"], WORLD, runs=3, workers=1)


@pytest.fixture(scope="module")
def grid():
    worlds = [f"geometric-btl:arms=3,phases=2,rounds={rounds}" for rounds in (200, 800)]
    return compare(["uniform", "dts"], worlds, runs=3, workers=1)


# Printed


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_table_fits_and_the_verdict_comes_first(found, width):
    text = as_text(found, width)
    lines = text.splitlines()
    assert "has the lowest regret" in lines[0]
    assert max(map(len, lines)) <= width
    assert all(policy.spec in text for policy in found.plan.policies)
    assert ("Not shown: " in text) == (width < 120)


def test_a_repr_is_as_wide_as_the_terminal(found, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert repr(found) == as_text(found, 80)


def test_several_worlds_are_summed_up(grid):
    text = as_text(grid, 80)
    assert text.startswith("Ratio to the best policy of each world, over worlds")
    assert all(f"{world.spec}: " in text for world in grid.plan.worlds)


def test_what_is_missing_is_said(tmp_path):
    from driftduel.lab import load_results, sweep

    plan = make_plan(WORLD, ["uniform", "dts"], 2)
    sweep(plan, tmp_path / "out", only="*uniform*", workers=1)
    text = repr(load_results(tmp_path / "out"))
    assert "uniform is the only policy with results" in text
    assert "2 of 4 cells are missing." in text
    assert "Nothing is finished yet" in repr(results_of_nothing(tmp_path))


def results_of_nothing(tmp_path):
    from driftduel.lab.experiment import open_results

    return open_results(make_plan(WORLD, ["uniform"], 1), tmp_path / "nothing")


def test_a_notebook_shows_the_same_and_escapes_it(found):
    html = found._repr_html_()
    assert html.startswith("<p><strong>")
    assert html.count("<tr>") == 1 + len(found.plan.policies)
    assert "anaconda:constant=0.5" in html
    from driftduel.lab.tables import ResultTable, _html_table

    strange = ResultTable("", "", ("<b>",), (("<script>",),), "0")
    assert "<script>" not in _html_table(strange)
    assert "&lt;script&gt;" in _html_table(strange)


def test_a_notebook_has_the_lines_of_a_terminal():
    played = compare("uniform", "cycle:arms=3,rounds=100", runs=1, benchmark="borda", workers=1)
    about = [line for line in as_text(played, 200).splitlines() if line[:4] in ("K = ", "regr")]
    assert len(about) == 2
    assert "<br>".join(about) in played._repr_html_()


def test_a_plan_says_what_is_to_be_played(grid):
    text = repr(make_plan(WORLD, ["uniform", "dts"], 3, (1, 2)))
    assert text.startswith(
        "Plan of 12 games = 1 world x 2 policies x 3 runs x 2 seeds; 3,600 rounds"
    )
    assert WORLD in text
    assert "benchmark condorcet, mode serve, seed 1  2" in text


# Figures


def test_figures_are_returned_saved_and_drawn_on_axes_of_others(found, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    one = found.plot_regret(
        ["dts", 0], log=True, title="A title", ylabel="loss", labels={"dts": "D"}
    )
    assert isinstance(one, Figure)
    assert one._suptitle.get_text() == "A title"
    (panel,) = one.axes
    assert panel.get_yscale() == "log"
    assert panel.get_ylabel() == "loss"
    assert [text.get_text() for text in one.legends[0].get_texts()] == ["D", "uniform"]
    assert one._repr_png_().startswith(b"\x89PNG")
    for ending, begin in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        one.savefig(tmp_path / f"one.{ending}")
        found.plot_regret(path=tmp_path / f"two.{ending}")
        assert (tmp_path / f"one.{ending}").read_bytes().startswith(begin)
        assert (tmp_path / f"two.{ending}").read_bytes().startswith(begin)
    canvas = Figure()
    left, right = canvas.subplots(1, 2)
    assert found.plot_regret(ax=left, log=False) is left
    assert found.plot_totals(ax=right, title="Totals") is right
    assert left.get_yscale() == "linear"
    assert left.get_title() == ""
    assert right.get_title() == "Totals"
    assert len(left.get_legend().get_texts()) == 3


def test_every_kind_of_figure(found, grid):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn = [
        found.plot_totals(), found.plot_shares(), found.plot_restarts(), grid.plot_heat(),
        grid.plot_trend(["dts"]), grid.plot_regret(world="*rounds=800"),
    ]  # fmt: skip
    assert all(isinstance(each, Figure) for each in drawn)
    ax = Figure().subplots()
    assert grid.plot_heat(ax=ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["dts", "uniform"]


def pdf_inches(path):
    """Return the size of a PDF's page."""
    content = path.read_bytes()
    left, bottom, right, top = map(float, re.search(rb"/MediaBox \[(.*?)\]", content)[1].split())
    return (right - left) / 72, (top - bottom) / 72


@pytest.mark.parametrize(
    ("width", "inches"), [("column", 3.25), ("page", 6.75), (5.0, 5.0), (None, 6.75)]
)
def test_facets_have_one_legend_and_the_width_that_was_asked_for(grid, tmp_path, width, inches):
    pytest.importorskip("matplotlib")
    first = grid.plan.worlds[0].spec
    labels = {"dts": "Double Thompson", first: "short games"}
    path = tmp_path / "facets.pdf"
    drawn = grid.plot_regret(facets="world", width=width, labels=labels, logx=True, path=path)
    assert pdf_inches(path)[0] == pytest.approx(inches, abs=0.01)
    assert b"/Type3" not in path.read_bytes()  # publishers refuse such fonts
    titles = [panel.get_title(loc="left") for panel in drawn.axes]
    assert titles == ["short games", "rounds=800"]
    assert "geometric-btl:arms=3" in drawn._suptitle.get_text()
    assert [panel.get_xscale() for panel in drawn.axes] == ["log", "log"]
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Double Thompson", "uniform"]
    assert not any(panel.get_legend() for panel in drawn.axes)
    for panel, world in zip(drawn.axes, grid.findings.worlds, strict=True):
        assert panel.get_xlim()[1] == world.rounds
        assert len(panel.lines) == 2 + len(world.changes.rounds)
        assert len(panel.collections) == 2  # the bands
    boxes = [panel.get_position().x0 for panel in drawn.axes]
    assert (len({round(left, 3) for left in boxes}) == 2) == (inches > 4.2)  # side by side


def test_bands_are_the_intervals_of_the_mean(found):
    pytest.importorskip("matplotlib")
    drawn = found.plot_regret(["dts"], log=False)
    (band,) = drawn.axes[0].collections
    corners = band.get_paths()[0].vertices
    games = found.games.filter(policy="dts")
    regrets = games["regret"].to_numpy()
    half = stats.t.ppf(0.975, 2) * regrets.std(ddof=1) / math.sqrt(3)
    last = corners[corners[:, 0] == corners[:, 0].max(), 1]
    assert last.max() == pytest.approx(regrets.mean() + half)
    assert last.min() == pytest.approx(regrets.mean() - half)


@pytest.mark.parametrize("legend", ["auto", "below", "outside", "inside", None])
def test_a_legend_goes_where_it_is_wanted(found, legend):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn = found.plot_regret(legend=legend)
    drawn.draw_without_rendering()
    (panel,) = drawn.axes
    box = panel.get_window_extent()
    if legend is None:
        assert not drawn.legends
        assert panel.get_legend() is None
    elif legend == "inside":
        assert box.contains(*panel.get_legend().get_window_extent().p0)
    else:
        (own,) = drawn.legends
        place = own.get_window_extent()
        assert (place.x0 >= box.x1) == (legend == "outside")
        assert (place.y1 <= box.y0) == (legend != "outside")
    ax = Figure().subplots()
    found.plot_regret(ax=ax, legend=legend)
    assert (ax.get_legend() is None) == (legend is None)


def test_facets_without_a_policy_of_one_world(tmp_path):
    pytest.importorskip("matplotlib")
    from driftduel.lab import load_results, sweep

    worlds = [WORLD, WORLD.replace("phases=3", "phases=2")]
    plan = make_plan(worlds, ["uniform", "dts"], 2)
    sweep(plan, tmp_path / "out", only="*uniform*", workers=1)
    sweep(plan, tmp_path / "out", only=f"{worlds[0]}*", workers=1)
    drawn = load_results(tmp_path / "out").plot_regret(["dts", "uniform"], facets="world")
    lines = [len(panel.lines) for panel in drawn.axes]
    changes = [len(w.changes.rounds) for w in load_results(tmp_path / "out").findings.worlds]
    assert [n - m for n, m in zip(lines, changes, strict=True)] == [2, 1]


# LaTeX


def reference_wide(found):
    """Return, for each policy and world, the mean, the half width, and how the cell is marked."""
    cells = {}
    for world in found.plan.worlds:
        games = found.games.filter(world=world.spec).sort("run")
        regrets = {
            policy.spec: games.filter(policy=policy.spec)["regret"].to_numpy()
            for policy in found.plan.policies
        }
        best = min(regrets, key=lambda spec: regrets[spec].mean())
        for spec, values in regrets.items():
            n = len(values)
            half = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)
            if spec == best:
                mark = "best"
            else:
                difference = values - regrets[best]
                wide = stats.t.ppf(0.975, n - 1) * difference.std(ddof=1) / math.sqrt(n)
                mark = "worse" if difference.mean() - wide > 0 else "open"
            cells[spec, world.spec] = values.mean(), half, mark
    return cells


def test_a_wide_table_has_the_best_in_bold_and_marks_what_is_open():
    specs = ["uniform", "dts", "king", "dts:alpha=0.6"]
    worlds = ["geometric-btl:arms=3,phases=2,rounds=400", "two-arm:rounds=400"]
    found = compare(specs, worlds, runs=4, workers=1)
    expected = reference_wide(found)
    marks = {mark for *_, mark in expected.values()}
    assert marks == {"best", "open", "worse"}  # or the games show nothing
    labels = {"dts": "D & T", "uniform": "$U$", worlds[1]: "two arms"}
    lines = found.to_latex(wide=True, labels=labels).splitlines()
    head, *rows = [line.removesuffix(r" \\").split(" & ") for line in lines if r" \\" in line]
    names = ["$U$", r"D \& T", r"\texttt{king}", r"\texttt{dts:alpha=0.6}"]
    assert [" & ".join(row[:-2]) for row in rows] == names
    assert head[-1] == "two arms"
    for spec, row in zip(specs, rows, strict=True):
        for world, cell in zip(worlds, row[-2:], strict=True):
            mean, half, mark = expected[spec, world]
            shape = {
                "best": r"\$\\mathbf\{(.*) \\pm (.*)\}\$", "worse": r"\$(.*) \\pm ([^^]*)\$",
                "open": r"\$(.*) \\pm (.*)\^\{\\dagger\}\$",
            }[mark]  # fmt: skip
            shown = re.fullmatch(shape, cell)
            assert shown, (spec, world, cell, mark)
            digits = len(shown[2].partition(".")[2])
            assert float(shown[1].replace(r"\,", "")) == pytest.approx(round(mean, digits))
            assert float(shown[2].replace(r"\,", "")) == pytest.approx(round(half, digits))
    assert "4 runs" in lines[-1]
    assert r"$\dagger$" in lines[-1]


def test_a_wide_table_of_single_runs_says_so_and_marks_nothing():
    found = compare(["uniform", "dts"], WORLD, runs=1, workers=1)
    text = found.to_latex(wide=True)
    assert r"^{\dagger}" not in text
    assert r"\pm" not in text
    assert "single run" in text


def test_a_notebook_shows_the_regret_of_every_policy_in_every_world(grid):
    html = grid._repr_html_()
    for (spec, _), (mean, half, mark) in reference_wide(grid).items():
        shown = f"{margin(mean, half)[0]} ± {margin(mean, half)[1]}"
        assert spec in html
        assert (f"<strong>{shown}</strong>" in html) == (mark == "best")
        assert (f"{shown}†" in html) == (mark == "open")


def test_what_cannot_be_drawn_is_refused_in_a_sentence(found, grid, tmp_path):
    pytest.importorskip("matplotlib")
    for draw, said in (
        (grid.plot_regret, "several worlds; choose one with world="),
        (lambda: grid.plot_totals(world="nowhere"), "0 worlds match 'nowhere'"),
        (lambda: found.plot_regret(["dst"]), "policy 'dst' has no results; did you mean dts"),
        (found.plot_trend, "no two worlds of the plan differ only in their rounds"),
        (lambda: found.plot_totals(path=tmp_path / "a.gif"), "written as .png, .svg, .pdf"),
        (results_of_nothing(tmp_path).plot_regret, "no cell is finished yet"),
        (lambda: grid.plot_regret(facets="policy"), "facets='policy' must be 'world'"),
        (lambda: grid.plot_regret(facets="world", world="no"), "0 worlds match 'no'"),
        (lambda: grid.plot_regret(facets="world", ax=object()), "ax= is for one world"),
        (lambda: grid.plot_regret(facets="world", columns=0), "columns=0 must be"),
        (lambda: found.plot_regret(legend="left"), "legend='left' must be below"),
        (lambda: found.plot_totals(width="poster"), "width='poster' must be column, page"),
        (lambda: found.plot_regret(width=0.2), "width=0.2 must be between 1 and 100 inches"),
    ):
        with pytest.raises(DriftduelError) as error:
            draw()
        assert said in str(error.value)


# Who looks on


@pytest.fixture
def notebook(monkeypatch):
    """Pretend to be a notebook; return what it shows."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Handle()

    shell = SimpleNamespace(kernel=object())
    pages = SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=pages)
    )
    monkeypatch.setitem(sys.modules, "IPython.display", pages)
    return shown


def test_a_notebook_shows_a_bar_unless_told_not_to(notebook):
    compare(["uniform", "dts"], WORLD, runs=2, workers=1)
    assert notebook[0].startswith('<progress max="4" value="0">')
    assert '<progress max="4" value="4"></progress> 4 of 4 cells' in notebook[-1]
    assert "best so far: dts" in notebook[-1]
    notebook.clear()
    compare("uniform", WORLD, runs=1, workers=1, watch=False)
    assert notebook == []


def test_a_program_shows_nothing_unless_told_to(capsys):
    compare("uniform", WORLD, runs=2, workers=1)
    assert capsys.readouterr() == ("", "")
    compare("uniform", WORLD, runs=2, workers=1, watch=True)
    assert "driftduel: first result after" in capsys.readouterr().err
