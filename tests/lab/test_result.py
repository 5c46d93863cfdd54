"""Results as people meet them: printed, in a notebook, and as figures."""

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

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
    from driftduel.lab import results, sweep

    plan = make_plan(WORLD, ["uniform", "dts"], 2)
    sweep(plan, tmp_path / "out", only="*uniform*", workers=1)
    text = repr(results(tmp_path / "out"))
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
    from driftduel.lab.tables import Table, _html_table

    strange = Table("", "", ("<b>",), (("<script>",),), "0")
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
        ["dts", 0], log=True, title="A title", ylabel="loss", names={"dts": "D"}
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


def test_what_cannot_be_drawn_is_refused_in_a_sentence(found, grid, tmp_path):
    pytest.importorskip("matplotlib")
    for draw, said in (
        (grid.plot_regret, "several worlds; say which one to draw with world="),
        (lambda: grid.plot_totals(world="nowhere"), "0 worlds match 'nowhere'"),
        (lambda: found.plot_regret(["dst"]), "no results of a policy 'dst'; did you mean dts"),
        (found.plot_trend, "no two worlds of the plan differ in their rounds"),
        (lambda: found.plot_totals(path=tmp_path / "a.gif"), "written as .png, .svg, .pdf"),
        (results_of_nothing(tmp_path).plot_regret, "nothing is finished yet"),
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
