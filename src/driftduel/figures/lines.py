"""Line styles of policies: colour, dashes and marker, distinguishable without colours."""

from dataclasses import dataclass
from typing import Any

__all__ = ["LINE_COLOURS", "LineStyle", "line_style", "wrapped"]

# (colour on white, colour on dark pages): the palette of Okabe and Ito without yellow and black,
# and two more.
LINE_COLOURS = (
    ("#0072B2", "#4BA3E3"),
    ("#D55E00", "#FF8438"),
    ("#009E73", "#2CC99B"),
    ("#CC79A7", "#E8A3CB"),
    ("#E69F00", "#F5BD3D"),
    ("#5D4A8A", "#AD9BE3"),
    ("#56B4E9", "#A5DCFF"),
    ("#4D4D4D", "#C8C8C8"),
)
# Dash names of plotly, and dash tuples of matplotlib (offset, lengths in units of line widths).
_DASHES: tuple[tuple[str, Any], ...] = (
    ("solid", "-"),
    ("dash", (0, (4, 1.6))),
    ("dot", (0, (1, 1.4))),
    ("dashdot", (0, (4, 1.4, 1, 1.4))),
    ("longdash", (0, (8, 2))),
    ("longdashdot", (0, (8, 1.6, 1.2, 1.6))),
)
_MARKERS = (
    ("circle", "o"),
    ("square", "s"),
    ("triangle-up", "^"),
    ("diamond", "D"),
    ("triangle-down", "v"),
    ("cross", "P"),
    ("x", "X"),
    ("star", "*"),
)


@dataclass(frozen=True)
class LineStyle:
    """The line style of a policy."""

    colour: str
    colour_on_dark: str
    dash: str
    dashes: Any
    """For matplotlib."""
    symbol: str
    marker: str
    """For matplotlib."""


def line_style(policy: int) -> LineStyle:
    """Return the line style of the policy with this index, the same in all figures."""
    turn, place = divmod(policy, len(LINE_COLOURS))
    colour, on_dark = LINE_COLOURS[place]
    dash, dashes = _DASHES[(policy + turn) % len(_DASHES)]
    symbol, marker = _MARKERS[(place + 3 * turn) % len(_MARKERS)]
    return LineStyle(colour, on_dark, dash, dashes, symbol, marker)


def wrapped(spec: str, width: int = 24) -> list[str]:
    """Return a spec broken into a list of lines, at its colon and commas.

    Examples
    --------
    >>> wrapped("anaconda:constant=0.5,rule=practical")
    ['anaconda:constant=0.5,', 'rule=practical']
    """
    parts = spec.replace(":", ":\n", 1).replace(",", ",\n").split("\n")
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) <= width:
            lines[-1] += part
        else:
            lines.append(part)
    return lines
