"""Figures on light and on dark pages: one drawing, whose colours the page decides."""

import re

from driftduel.figures.lines import LINE_COLOURS

__all__ = ["in_page", "on_dark"]

_PAGE, _TEXT = "#14181c", "#e8ebee"
"""The page's two colours when it is dark."""
_LEAST_CONTRAST = 3.0


def on_dark(colour: str) -> str:
    """Return what a colour of a figure on white becomes on a dark page.

    White and black change places, greys with them; lines have a second colour anyway; what would
    be too dark to see is made lighter.

    Examples
    --------
    >>> on_dark("#ffffff"), on_dark("#000000"), on_dark("#0072b2"), on_dark("#440154")
    ('#14181c', '#e8ebee', '#4ba3e3', '#855a90')
    """
    known = {light.lower(): dark.lower() for light, dark in LINE_COLOURS}
    if colour in known:
        return known[colour]
    channels = _channels(colour)
    page, text = _channels(_PAGE), _channels(_TEXT)
    if max(channels) - min(channels) < 12:
        grey = sum(channels) / 765
        return _hex([t + (p - t) * grey for p, t in zip(page, text, strict=True)])
    white = 0.0
    mixed = channels
    while _contrast(mixed, page) < _LEAST_CONTRAST:
        white += 0.05
        mixed = [each + (255 - each) * white for each in channels]
    return _hex(mixed)


_COLOUR = re.compile(r"(?<=: )#[0-9a-fA-F]{6}\b")


def in_page(svg: str, name: str) -> str:
    """Return a figure as a part of a page: it follows the page's theme and fetches nothing.

    Parameters
    ----------
    svg
        What matplotlib wrote.
    name
        Another one for each figure of a page, for the names inside it.
    """
    drawing = svg[svg.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r"<style[^>]*>.*?</style>", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", drawing)
    drawing = drawing.replace("xlink:href", "href")
    drawing = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", drawing)
    used = sorted({colour.lower() for colour in _COLOUR.findall(drawing)})
    drawing = _COLOUR.sub(lambda found: f"var(--{found[0][1:].lower()})", drawing)
    light = "".join(f"--{colour[1:]}:{colour};" for colour in used)
    dark = "".join(f"--{colour[1:]}:{on_dark(colour)};" for colour in used)
    style = f"#{name}{{{light}}}[data-theme=dark] #{name}{{{dark}}}"
    root = (
        f'<svg class="drawing" id="{name}" aria-hidden="true" '
        f'style="fill:var(--text);stroke-linejoin:round"'
    )
    return drawing.replace("<svg", root, 1).replace(">", f"><style>{style}</style>", 1)


def _channels(colour: str) -> list[float]:
    return [float(int(colour[i : i + 2], 16)) for i in (1, 3, 5)]


def _hex(channels: list[float]) -> str:
    return "#" + "".join(f"{round(each):02x}" for each in channels)


def _contrast(one: list[float], other: list[float]) -> float:
    """Return the contrast of two colours as the WCAG define it."""

    def luminance(channels: list[float]) -> float:
        linear = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
            for c in (each / 255 for each in channels)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
