"""The style of all figures: legible at column width, for colour-blind readers and in grey."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from driftduel._internal.files import atomic_write
from driftduel.errors import DriftduelError, MissingExtraError

__all__ = ["ARM_COLOURS", "arm_colour", "check_figure_path", "figure", "plain", "save"]

# The palette of Okabe and Ito, extended by darker shades; it repeats for more arms.
ARM_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#5D4A8A",
    "#8A5A2B",
    "#4D4D4D",
)
_FORMATS = (".png", ".svg", ".pdf")
_SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "figure.dpi": 150,
    "svg.hashsalt": "driftduel",  # makes the file a function of the figure
}
_MARGIN = 0.03  # inches of margin above and below the drawing
_TRUE_TYPE = {"pdf.fonttype": 42, "ps.fonttype": 42}  # publishers refuse Type 3 fonts


def arm_colour(arm: int) -> str:
    """Return the colour of an arm, the same in every figure."""
    return ARM_COLOURS[arm % len(ARM_COLOURS)]


@contextmanager
def figure(
    rows: int, heights: list[float], width: float = 7.0, *, shared: bool = True, columns: int = 1
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield a figure and the list of its panels, row by row.

    Parameters
    ----------
    rows, columns
        The grid of panels.
    heights
        Heights of the rows in inches.
    width
        Width of the figure and its files in inches.
    shared
        Whether the panels of a column share one time axis.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing a figure") from None
    with mpl.rc_context(_SETTINGS):
        canvas = _shown_in_notebooks()(figsize=(width, sum(heights) + 0.6), layout="constrained")
        panels = canvas.subplots(
            rows, columns, sharex="col" if shared else False, height_ratios=heights, squeeze=False
        )
        yield canvas, list(panels.flat)


@cache
def _shown_in_notebooks() -> Any:
    """Return a Figure class that notebooks display without pyplot, and that saves all labels."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    class Picture(Figure):
        def savefig(self, *args: Any, **settings: Any) -> None:
            """Write a file with the width of the figure and the height of its content."""
            with mpl.rc_context(_TRUE_TYPE):
                if "bbox_inches" not in settings:
                    self.draw_without_rendering()  # computes the layout
                    drawn = self.get_tightbbox()
                    settings["bbox_inches"] = Bbox.from_extents(
                        min(0.0, drawn.x0), drawn.y0 - _MARGIN,
                        max(self.get_figwidth(), drawn.x1), drawn.y1 + _MARGIN,
                    )  # fmt: skip
                super().savefig(*args, **settings)

        def _repr_png_(self) -> bytes:
            content = io.BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    return Picture


def plain(name: str) -> str:
    """Escape a user's name, so that matplotlib neither parses it as mathematics nor hides it."""
    escaped = name.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def check_figure_path(path: str | Path) -> Path:
    """Return the path; raise DriftduelError if the suffix or the folder is invalid.

    Called before long work, so that the work is not lost.
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise DriftduelError(
            f"a figure is written as {', '.join(_FORMATS)}; {path.name!r} has another suffix."
        )
    if not path.parent.is_dir():
        raise DriftduelError(f"cannot write {str(path)!r}: folder {path.parent} does not exist.")
    return path


def save(canvas: Any, path: str | Path) -> None:
    """Write a figure atomically."""
    path = check_figure_path(path)
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    ending = path.suffix.lower()
    with atomic_write(path) as temporary:
        canvas.savefig(temporary, format=ending[1:], metadata=metadata[ending])
