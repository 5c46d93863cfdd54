"""How each policy looks in every figure: colour, dashes and marker, so that grey is enough."""

from dataclasses import dataclass
from typing import Any

__all__ = ["LINE_COLOURS", "LineStyle", "line_style", "wrapped"]

# Okabe and Ito's palette without yellow and black, and two more; the second is for dark pages.
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
# Names of the page's charting library, and matplotlib's (offset, lengths in line widths).
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
    """The look of a policy."""

    colour: str
    colour_on_dark: str
    dash: str
    dashes: Any
    """For matplotlib."""
    symbol: str
    marker: str
    """For matplotlib."""


def line_style(policy: int) -> LineStyle:
    """Return the look of a plan's policy, the same in all of its figures."""
    turn, place = divmod(policy, len(LINE_COLOURS))
    colour, on_dark = LINE_COLOURS[place]
    dash, dashes = _DASHES[(policy + turn) % len(_DASHES)]
    symbol, marker = _MARKERS[(place + 3 * turn) % len(_MARKERS)]
    return LineStyle(colour, on_dark, dash, dashes, symbol, marker)


def wrapped(spec: str, width: int = 24) -> list[str]:
    """Break a spec into lines, at its colon and commas.

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
