"""Count avoided phrases in docstrings, comments, messages and Markdown, per package.

    python tools/prose_check.py             exit code 1 if a package is above a limit
    python tools/prose_check.py --lower     set the limits in prose_limits.toml to lower figures

Figures are matches per 10,000 words. `FINAL` has the limits of rewritten packages; packages in
prose_limits.toml have a higher limit until they are rewritten. Each match of a failing package is
printed as FILE:LINE.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tools" / "prose_limits.toml"
PHRASES = {
    "person": r"who|whose|whom|whoever",  # allowed for voters and readers
    "crowd": r"(no|some|every|any)body|(some|every)one",
    "speech": r"told|hears?|heard|says?|said|saying|tells? (who|what|how|which|if|that|whether)",
    "mind": r"lives?|knows?|wants?|remembers?|forgets?",
    "free-relative": r"what (is|was|has|had|can|may|must|would|an?|it|they|there|com(es?))",
    "dialect": r"anew|see to it|of (its|their) own|sisters?|twins?|luck|yardsticks?|all that",
}
FINAL = {"person": 8, "crowd": 2, "speech": 2, "mind": 2, "free-relative": 2, "dialect": 2}
TOLERATED = 2  # matches of a key in any package, because rates of small packages are coarse
PATTERNS = {key: re.compile(rf"\b({words})\b", re.IGNORECASE) for key, words in PHRASES.items()}


def prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each comment, and of each string literal of five words or more."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for offset, line in enumerate(node.value.split("\n")):
                in_docstring = "\n" in node.value
                is_code = line.lstrip().startswith((">>>", "... "))
                if not is_code and (in_docstring or len(re.findall(r"[a-z]{2,}", line)) >= 5):
                    yield node.lineno + offset, line


def prose_of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each line outside code, without code spans and link targets."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)|<[^>]+>|\$[^$]*\$", " ", line)


def package_of(path: Path) -> str:
    """Return the key of a file: its package below src/driftduel, "root" or "docs"."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "src":
        return "docs"
    is_package = len(parts) > 3 and not parts[2].startswith("_")
    return parts[2].removesuffix(".py") if is_package or parts[2] == "testing.py" else "root"


def count() -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], list[str]]]:
    """Return the figures of each package, and the matching lines by (package, key)."""
    words: Counter[str] = Counter()
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    for path in sorted(files):
        package, text = package_of(path), path.read_text("utf-8")
        prose = prose_of_markdown(text) if path.suffix == ".md" else prose_of_python(text)
        for number, line in prose:
            words[package] += len(re.findall(r"[A-Za-z']+", line))
            for key, pattern in PATTERNS.items():
                found = f"{path.relative_to(ROOT)}:{number}: {key}: {line.strip()}"
                lines[package, key] += [found] * len(pattern.findall(line))
    rate = {p: {k: 1e4 * len(lines[p, k]) / n for k in PATTERNS} for p, n in sorted(words.items())}
    return rate, lines


def main() -> int:
    """Print the matches of packages above a limit; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--lower", action="store_true", help="write lower figures as new limits")
    arguments = parser.parse_args()
    limits = tomllib.loads(LIMITS.read_text("utf-8"))
    figures, lines = count()
    if arguments.lower:
        tables = []
        for package, old in limits.items():
            new = {key: min(old[key], int(figures[package][key]) + 1) for key in PHRASES}
            if any(new[key] > FINAL[key] for key in PHRASES):
                rows = (f"{key} = {max(new[key], FINAL[key])}" for key in PHRASES)
                tables.append("\n".join((f"[{package}]", *rows)))
        LIMITS.write_text("\n\n".join(tables) + "\n", "utf-8")
        return 0
    failed = 0
    for package, figure in figures.items():
        for key, value in figure.items():
            limit = limits.get(package, FINAL)[key]
            if value > limit and len(lines[package, key]) > TOLERATED:
                failed = 1
                print(*lines[package, key], sep="\n")
                print(f"{package}: {key} {value:.1f} per 10,000 words, above the limit {limit}\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
