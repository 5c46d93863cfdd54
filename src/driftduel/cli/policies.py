"""List the policies; with --long, or for one policy, print all facts about it.

The facts are the keys, the required prior knowledge, the guarantee, the source, and the confidence
in the implementation.
"""

import argparse
import json
from typing import Any

__all__ = ["configure", "markdown", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this policy, with its keys")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--long", action="store_true", help="all policies with all facts")
    form.add_argument("--json", action="store_true", help="print JSON instead")
    form.add_argument(
        "--markdown", action="store_true", help="print the table of docs/research/rivals.md"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the list in the requested form."""
    from driftduel.cli.listing import described
    from driftduel.policies import POLICIES

    entries = [POLICIES[arguments.name]] if arguments.name else list(POLICIES)
    if arguments.json:
        listed = {entry.name: {**described(entry), **_facts(entry)} for entry in entries}
        print(json.dumps(listed, indent=2))
    elif arguments.markdown:
        print(markdown(entries))
    elif arguments.name:
        _print_families(entries, in_panel=True)
    else:
        if arguments.long:
            _print_families(entries, in_panel=False)
            print("anew-NAME restarts the policy NAME whenever an option joins or leaves.")
        else:
            _print_short(entries)
        print("A policy is written name:key=value,key=value - for example")
        print("  driftduel play --policy sw-dts:window=5000 --world geometric-btl")


def _family(entry: Any) -> str:
    """Return the family of an entry: ``sw-*`` for all compositions of the wrapper ``sw``."""
    wrapper: Any = getattr(entry.factory, "wrapper", None)
    return f"{wrapper.prefix}-*" if wrapper else entry.name


def _print_short(entries: list[Any]) -> None:
    from driftduel.cli import catalogue
    from driftduel.cli.listing import print_groups

    grouped = {name for group in catalogue.POLICIES.values() for name in group}
    print_groups(catalogue.POLICIES, (e for e in entries if _family(e) not in grouped))
    print("'driftduel policies NAME' prints the keys and the source of one, --long of all.")


def _print_families(entries: list[Any], in_panel: bool) -> None:
    """Print all facts; compositions of the same wrapper share one entry."""
    from driftduel.cli.listing import print_entry
    from driftduel.cli.text import wrapped

    families: dict[str, list[Any]] = {}
    for entry in entries:
        families.setdefault(_family(entry), []).append(entry)
    for family in families.values():
        print_entry(family[0])
        facts = _facts(family[0])
        known = ", ".join(facts["told"]) or "none"
        lines = [f"{key}: {facts[key]}" for key in ("guarantee", "source", "confidence")]
        lines.insert(0, f"prior knowledge: {known}")
        if in_panel:
            lines.append(f"in panel mode: {facts['in_panel']}")
        if len(family) > 1:
            lines.append("also: " + ", ".join(entry.name for entry in family[1:]))
        for line in lines:
            print(wrapped(line, "      ", first="    "))
        print()


def markdown(entries: list[Any]) -> str:
    """Return the policies as a Markdown table, with one row per wrapper."""
    lines = [
        "| name | summary | keys | prior knowledge | guarantee | source | confidence |",
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
        known = ", ".join(facts["told"]) or "none"
        cells = (f"`{name}`", summary, keys, known, facts["guarantee"], facts["source"])
        lines.append("| " + " | ".join((*cells, facts["confidence"])) + " |")
    return "\n".join(lines)


def _facts(entry: Any) -> dict[str, Any]:
    """Return the class attributes of a policy; those of a wrapper include the wrapped policy."""
    from driftduel.policies import in_panel_by, prior_knowledge_of

    kind = getattr(entry.factory, "wrapper", entry.factory)
    return {
        "told": list(prior_knowledge_of(entry)),
        "guarantee": kind.guarantee,
        "in_panel": in_panel_by(entry),
        "source": kind.source,
        "confidence": kind.confidence,
    }
