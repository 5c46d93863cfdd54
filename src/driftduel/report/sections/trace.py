"""Section on one game of ANACONDA: its replays, active set and restarts."""

from dataclasses import dataclass

from driftduel._internal.wording import counted, listed, number, often, share
from driftduel.figures import in_page
from driftduel.games import Replays
from driftduel.report.section import Section

__all__ = ["TracePicture", "about_replays", "section"]


@dataclass(frozen=True)
class TracePicture:
    """The figure of a game, or the reason for its absence."""

    heading: str
    sentence: str
    svg: str | None = None


def section(picture: TracePicture | None) -> Section | None:
    """Return the section with the figure or the reason; None without a policy with replays."""
    if picture is None:
        return None
    from markupsafe import Markup

    drawing = None if picture.svg is None else Markup(in_page(picture.svg, "trace-drawing"))
    values = {"heading": picture.heading, "says": picture.sentence, "drawing": drawing}
    return Section("trace.html", values)


def about_replays(replays: Replays, total: float, run: str, loss: str = "regret") -> str:
    """Return a description of one game of ANACONDA.

    Parameters
    ----------
    replays
        The recorded stages of the game.
    total
        The total loss of the game.
    run
        The name of the run.
    loss
        The measured quantity: regret or exploitability.
    """
    text = f"{run[0].upper()}{run[1:]} ({loss} {number(total)}), "
    text += f"recorded {counted(replays.moments or replays.rounds, 'time')}: "
    text += f"{counted(replays.count, 'replay')} seen, in {share(replays.inside)} of the rounds; "
    text += "an arm was eliminated " if replays.eliminations else "no arm was eliminated"
    text += f"{often(len(replays.eliminations)) if replays.eliminations else ''}; "
    if replays.restarts:
        rounds = listed([f"{t:,}" for t in replays.restarts])
        text += f"{counted(len(replays.restarts), 'restart')}, after round {rounds}."
    else:
        text += "no restart"
        nothing = "; with all arms active to the end, its choices were almost random"
        text += f"{nothing if not replays.eliminations else ''}."
    return text
