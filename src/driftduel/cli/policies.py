"""List the policies that a spec can name: keys, what each must be told, guarantee, source."""

import argparse
import json
from typing import Any

__all__ = ["configure", "markdown", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", help="only this policy")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--markdown", action="store_true", help="print the table of docs/rivals.md")


def run(arguments: argparse.Namespace) -> None:
    """Print the list."""
    from driftduel.cli.listing import described, print_entries
    from driftduel.cli.text import wrapped
    from driftduel.policies import POLICIES

    entries = [POLICIES[arguments.name]] if arguments.name else list(POLICIES)
    if arguments.json:
        listed = {entry.name: {**described(entry), **_facts(entry)} for entry in entries}
        print(json.dumps(listed, indent=2))
        return
    if arguments.markdown:
        print(markdown(entries))
        return
    families: dict[str, list[Any]] = {}
    for entry in entries:
        wrapper: Any = getattr(entry.factory, "wrapper", None)
        families.setdefault(wrapper.prefix if wrapper else entry.name, []).append(entry)
    for family in families.values():
        print_entries(family[:1])
        facts = _facts(family[0])
        print(f"    told: {', '.join(facts['told']) or 'nothing'}; {facts['guarantee']}")
        print(f"    {facts['source']}; confidence: {facts['confidence']}")
        if arguments.name:
            print(wrapped(f"in panel mode: {facts['in_panel']}", "    "))
        if len(family) > 1:
            print(wrapped("also: " + ", ".join(entry.name for entry in family[1:]), "    "))
        print()
    if not arguments.name:
        print("anew-NAME starts NAME, any of these, anew whenever an option comes or goes.")
        print("A policy is written name:key=value,key=value - for example")
        print("  driftduel play --policy sw-dts:window=5000 --world geometric-btl")


def markdown(entries: list[Any]) -> str:
    """Write the policies as a table, compositions once for each wrapper."""
    lines = [
        "| name | what it does | keys | told | guarantee | source | confidence |",
        "|" + "---|" * 7,
    ]
    seen = set()
    for entry in entries:
        wrapper: Any = getattr(entry.factory, "wrapper", None)
        name, summary = entry.name, entry.summary
        if wrapper is not None:
            if wrapper in seen or not entry.name.startswith(f"{wrapper.prefix}-"):
                continue
            seen.add(wrapper)
            name, summary = f"{wrapper.prefix}-*", summary.partition(" Around:")[0]
        facts = _facts(entry)
        keys = ", ".join(f"`{parameter.name}`" for parameter in entry.parameters)
        told = ", ".join(facts["told"]) or "nothing"
        cells = (f"`{name}`", summary, keys, told, facts["guarantee"], facts["source"])
        lines.append("| " + " | ".join((*cells, facts["confidence"])) + " |")
    return "\n".join(lines)


def _facts(entry: Any) -> dict[str, Any]:
    """Read what a policy's class says of it; a wrapper speaks for itself and the one inside."""
    from driftduel.policies.around import in_panel_by, told_by

    kind = getattr(entry.factory, "wrapper", entry.factory)
    return {
        "told": list(told_by(entry)),
        "guarantee": kind.guarantee,
        "in_panel": in_panel_by(entry),
        "source": kind.source,
        "confidence": kind.confidence,
    }
