"""Section with definitions of the terms on the page."""

from driftduel.lab import Findings
from driftduel.report.section import Section

__all__ = ["section"]

_AGAINST = {
    "condorcet": "the best arm, the one that beats every other (the Condorcet winner)",
    "von-neumann": "the mixture of arms that no arm beats (the von Neumann winner)",
    "borda": "the arm with the highest mean probability of winning (the Borda winner)",
    "copeland": "the arm that beats most others (the Copeland winner)",
}
_EXPLOITABILITY = (
    "Here it is exploitability: the winnings against a policy's plays of an opponent with one "
    "fixed arm per phase, the best in hindsight, summed over phases. A phase is an interval of "
    "rounds with stationary preferences."
)


def section(findings: Findings) -> Section:
    """Return the section; the definition of regret depends on the benchmark."""
    against = _AGAINST.get(findings.plan.benchmark)
    regret = (
        f"The loss of a policy compared with playing {against} of each round twice, summed over "
        "rounds."
        if against
        else _EXPLOITABILITY
    )
    entries = {
        "policy": "A learner. In every round it chooses two arms and observes the winner.",
        "arm": "One of the options.",
        "world": "The probability that arm a beats arm b, for all pairs and all rounds. It "
        "changes over time, and the best arm may change with it.",
        "regret": f"{regret} Lower is better; policy `uniform` chooses at random.",
        "run": "One repetition. All policies of a run have the same world and the same outcome "
        "draws, so that differences are paired.",
        "95% interval": "An interval (Student's t) that contains the true mean in 95 of 100 such "
        "experiments. If the interval of a difference excludes 0, the difference is significant; "
        "of many comparisons without a true difference, one in twenty is significant by chance.",
        "restart": "A reset of the policy's state after a detected change.",
        "needless": "A false alarm: a restart without a change since the previous restart.",
    }
    return Section("glossary.html", {"entries": entries})
