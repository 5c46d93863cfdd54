"""Figures for light and dark pages: one SVG with colours from CSS variables of the page."""

import re

from driftduel.figures.lines import LINE_COLOURS

__all__ = ["in_page", "on_dark"]

_PAGE, _TEXT = "#14181c", "#e8ebee"
"""Background and text colours of the dark theme."""
_LEAST_CONTRAST = 3.0


def on_dark(colour: str) -> str:
    """Return the colour on a dark page for a colour of a figure on white.

    White, black and greys are inverted; lines have a defined second colour; other colours with
    insufficient contrast are lightened.

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
    """Return a figure as an inline SVG element that follows the page's theme, without requests.

    Parameters
    ----------
    svg
        The SVG document of matplotlib.
    name
        An id that is unique on the page; the prefix of all ids inside the SVG.
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
    """Return the contrast ratio of two colours, as defined by WCAG."""

    def luminance(channels: list[float]) -> float:
        linear = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
            for c in (each / 255 for each in channels)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
