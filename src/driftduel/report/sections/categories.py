"""Section on regret by category of the requests: a table."""

from driftduel._internal.wording import number, share
from driftduel.report.section import OneWorld, Section, between, column

__all__ = ["section"]

_MOST = 12  # columns of a table


def section(of: OneWorld) -> Section | None:
    """Return the section; None if the requests of the world have no categories."""
    found = of.world.categories
    if found is None:
        return None
    order = sorted(range(len(found.names)), key=lambda i: -found.shares[i])
    shown = sorted(order[:_MOST])
    rows = []
    for standing in of.world.ranked:
        regrets = found.regrets.get(standing.policy)
        if regrets is None:
            continue
        cells = [
            (regrets[i].mean, number(regrets[i].mean), between(regrets[i].low, regrets[i].high))
            for i in shown
        ]
        rows.append({"place": standing.policy, "name": standing.name, "cells": cells})
    left_out = len(found.names) - len(shown)
    return Section(
        "categories.html",
        {
            "level": of.level,
            "table": f"categories-{of.world.index}",
            "columns": [
                column("policy", words=True),
                *(
                    column(found.names[i], f"{share(found.shares[i])} of the requests")
                    for i in shown
                ),
            ],
            "rows": rows,
            "left_out": left_out,
        },
    )
