"""The items of the demonstration: prompts of three topics, with an answer of each model."""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["MODELS", "TOPICS", "demo_items"]

MODELS = ("amber", "birch", "cedar", "dune", "ember")
_STYLES = (
    ("", ""),
    ("## Short answer\n\n", ""),
    ("", "\n\n> I checked this twice."),
    ("Good question!\n\n", "\n\n- [x] computed\n- [x] checked"),
    ("**Answer.**\n\n", "\n\nTell me if you need more detail."),
)
"""What each model writes before and after an answer."""


def demo_items(count: int) -> Iterator[dict[str, Any]]:
    """Yield `count` items as `driftduel arena new --items` reads them.

    Examples
    --------
    >>> first, *_ = demo_items(3)
    >>> first["id"], first["tags"], sorted(first["answers"]) == sorted(MODELS)
    ('code-1', {'topic': 'code'}, True)
    """
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        size = number // len(TOPICS) + 1
        prompt, answer = _WRITERS[topic](size)
        yield {
            "id": f"{topic}-{size}",
            "prompt": prompt,
            "answers": {
                model: f"{before}{answer}{after}"
                for model, (before, after) in zip(MODELS, _STYLES, strict=True)
            },
            "tags": {"topic": topic},
        }


def _code(size: int) -> tuple[str, str]:
    step = size + 1
    return (
        f"Write a Python function that adds up the multiples of **{step}** below `n`.",
        f"```python\ndef total(n):\n    return sum(range({step}, n, {step}))\n```\n"
        f"For `n = {10 * step}` it returns {sum(range(step, 10 * step, step))}.",
    )


def _letter(size: int) -> tuple[str, str]:
    return (
        f"Write a short note: the meeting moves from {8 + size % 9} to {9 + size % 9} o'clock, "
        f"in room {100 + size}.",
        f"Dear all,\n\nour meeting begins an hour later, at **{9 + size % 9} o'clock**, in room "
        f"{100 + size}.\n\nKind regards",
    )


def _maths(size: int) -> tuple[str, str]:
    total = size * (size + 1) // 2
    return (
        f"What is $\\sum_{{k=1}}^{{{size}}} k$, and why?",
        f"With the formula of Gauss:\n\n$$\n\\sum_{{k=1}}^{{{size}}} k = "
        f"\\frac{{{size} \\cdot {size + 1}}}{{2}} = {total}\n$$\n\n"
        f"| first | last | sum |\n|--:|--:|--:|\n| 1 | {size} | {total} |",
    )


_WRITERS: dict[str, Callable[[int], tuple[str, str]]] = {
    "code": _code,
    "letters": _letter,
    "maths": _maths,
}
TOPICS = tuple(_WRITERS)
