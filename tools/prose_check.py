"""Count avoided phrases in docstrings, comments, messages and Markdown, per package.

    python tools/prose_check.py                    exit code 1 if a package is above a limit
    python tools/prose_check.py --commits RANGE    the same for the commit subjects of a git range

Figures are matches per 10,000 words. `LIMITS` has the limits of each package. Each match of a
failing package is printed as FILE:LINE. A commit subject has at most 72 characters, no full stop,
and none of the avoided phrases.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PHRASES = {
    "person": r"who|whose|whom|whoever",  # allowed for voters and readers
    "crowd": r"(no|some|every|any)body|(some|every)one",
    "speech": r"told|hears?|heard|says?|said|saying|tells? (who|what|how|which|if|that|whether)",
    "mind": r"lives?|knows?|wants?|remembers?",  # filters and `Policy.forget` do forget
    "free-relative": r"what (is|was|has|had|can|may|must|would|an?|it|they|there|com(es?))",
    "dialect": r"anew|see to it|of (its|their) own|sisters?|twins?|luck|yardsticks?|all that",
}
LIMITS = {"person": 8, "crowd": 2, "speech": 2, "mind": 2, "free-relative": 2, "dialect": 2}
TOLERATED = 2  # matches of a key in any package, because rates of small packages are coarse
PATTERNS = {  # options such as --sisters and specs such as anew-NAME are names, not prose
    key: re.compile(rf"(?<!--)\b({words})\b(?!-[\w*])", re.IGNORECASE)
    for key, words in PHRASES.items()
}


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
    """Return the package of a file below src/driftduel, or its folder, or "root" or "docs"."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "src":
        is_code = path.suffix == ".py" and parts[0] in ("examples", "research")
        return parts[0] if is_code else "docs"
    is_package = len(parts) > 3 and not parts[2].startswith("_")
    return parts[2].removesuffix(".py") if is_package or parts[2] == "testing.py" else "root"


def count() -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], list[str]]]:
    """Return the figures of each package, and the matching lines by (package, key)."""
    words: Counter[str] = Counter()
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    files += [
        path for folder in ("src", "research", "examples") for path in (ROOT / folder).rglob("*.py")
    ]
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


def check_subjects(subjects: Iterable[str]) -> list[str]:
    """Return one line for each fault of a commit subject."""
    found = []
    for subject in subjects:
        faults = [key for key, pattern in PATTERNS.items() if pattern.search(subject)]
        faults += ["longer than 72 characters"] * (len(subject) > 72)
        faults += ["ends with a full stop"] * subject.endswith(".")
        found += [f"{subject}: {fault}" for fault in faults]
    return found


def main() -> int:
    """Print the matches of packages above a limit; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--commits", metavar="RANGE", help="check commit subjects, as v0.3.0..HEAD")
    arguments = parser.parse_args()
    if arguments.commits:
        command = ["git", "log", "--no-merges", "--format=%s", arguments.commits, "--"]
        log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        faults = check_subjects(log.stdout.splitlines())
        for fault in faults:
            print(fault)
        return int(bool(faults))
    figures, lines = count()
    failed = 0
    for package, figure in figures.items():
        for key, value in figure.items():
            limit = LIMITS[key]
            if value > limit and len(lines[package, key]) > TOLERATED:
                failed = 1
                print(*lines[package, key], sep="\n")
                print(f"{package}: {key} {value:.1f} per 10,000 words, above the limit {limit}\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
