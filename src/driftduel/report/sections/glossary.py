"""What the words mean."""

from driftduel.lab.findings import Findings
from driftduel.report.section import Section

__all__ = ["section"]

_AGAINST = {
    "condorcet": "the best arm, the one that beats every other (the Condorcet winner)",
    "von-neumann": "the mixture of arms that no arm beats (the von Neumann winner)",
    "borda": "the arm with the best chance against a random other one (the Borda winner)",
    "copeland": "the arm that beats most others (the Copeland winner)",
}
_EXPLOITABILITY = (
    "Here it is exploitability: what an opponent who keeps to one arm a phase, the best in "
    "hindsight, would have won against a policy's plays, summed up over phases. A phase is a "
    "stretch of rounds in which the preferences stand still."
)


def section(findings: Findings) -> Section:
    """Explain the words that the page uses; regret by its benchmark."""
    against = _AGAINST.get(findings.plan.benchmark)
    regret = (
        f"What a policy lost by not playing {against} of each round twice, summed up over rounds."
        if against
        else _EXPLOITABILITY
    )
    entries = {
        "policy": "A learner. In every round it picks two arms and hears which of the two won.",
        "arm": "One of the options that can be picked.",
        "world": "The chance that arm a beats arm b, for every two arms and every round. It "
        "changes over time, and which arm is best may change with it.",
        "regret": f"{regret} Lower is better; choosing at random is policy `uniform`.",
        "run": "One repetition. All policies of a run meet the same world and the same luck, so "
        "they are compared run by run.",
        "95% interval": "Where the true mean would lie in 95 of 100 such experiments (Student's "
        "t). If the interval of a difference excludes 0, the difference is more than chance; with "
        "many comparisons, one in twenty will say so wrongly.",
        "restart": "The moment at which a policy forgets what it learned and begins anew.",
        "needless": "A restart is needless if nothing has changed since the restart before it.",
    }
    return Section("glossary.html", {"entries": entries})
