"""One game of ANACONDA: its replays, its active set, its restarts."""

from dataclasses import dataclass

from driftduel.figures.themes import in_page
from driftduel.games.replays import Replays
from driftduel.report.section import Section
from driftduel.wording import counted, listed, number, often, share

__all__ = ["Picture", "about_replays", "section"]


@dataclass(frozen=True)
class Picture:
    """The picture of a game, or why there is none."""

    heading: str
    sentence: str
    svg: str | None = None


def section(picture: Picture | None) -> Section | None:
    """Return the picture, or why there is none; None if there is nothing to say."""
    if picture is None:
        return None
    from markupsafe import Markup

    drawing = None if picture.svg is None else Markup(in_page(picture.svg, "trace-drawing"))
    values = {"heading": picture.heading, "says": picture.sentence, "drawing": drawing}
    return Section("trace.html", values)


def about_replays(replays: Replays, total: float, run: str, loss: str = "regret") -> str:
    """Say what one game of ANACONDA looks like.

    Parameters
    ----------
    replays
        The game.
    total
        What it lost in all.
    run
        Its name.
    loss
        What is measured.
    """
    text = f"{run[0].upper()}{run[1:]} ({loss} {number(total)}), "
    text += f"looked at {counted(replays.moments or replays.rounds, 'time')}: "
    text += f"{counted(replays.count, 'replay')} seen, in {share(replays.inside)} of the rounds; "
    text += "an arm was eliminated " if replays.eliminations else "no arm was eliminated"
    text += f"{often(len(replays.eliminations)) if replays.eliminations else ''}; "
    if replays.restarts:
        rounds = listed([f"{t:,}" for t in replays.restarts])
        text += f"{counted(len(replays.restarts), 'restart')}, after round {rounds}."
    else:
        text += "no restart"
        nothing = "; with all arms in play to the end it chose almost at random"
        text += f"{nothing if not replays.eliminations else ''}."
    return text
