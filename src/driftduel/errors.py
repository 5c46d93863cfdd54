"""The one exception a user's mistake raises."""

__all__ = ["DriftduelError", "LogError", "MissingExtraError", "PluginWarning", "WeakSpotWarning"]


class DriftduelError(ValueError):
    """Say, in one sentence, which value is wrong and what would be right."""


class MissingExtraError(DriftduelError, ImportError):
    """Say which optional part to install.

    Parameters
    ----------
    package
        The package that could not be imported.
    extra
        The extra of driftduel that brings it.
    purpose
        What it is needed for; the sentence begins with it.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed; "
            f"'pip install driftduel[{extra}]' brings it."
        )


class WeakSpotWarning(UserWarning):
    """Say that an algorithm's own formulas cannot work at the horizon it was given."""


class PluginWarning(UserWarning):
    """Raised as a warning when an installed plug-in cannot be imported."""


class LogError(DriftduelError):
    """Say which event of a log cannot have happened.

    Parameters
    ----------
    said
        The sentence.
    place
        The event's place in the log, from 0.
    round
        The round that it speaks of; None if it speaks of none.
    logged, asked
        The duel that the log says was asked for, and the one that the policy asks for: first arm,
        second arm and notes. None where that is not what is wrong.
    """

    def __init__(
        self,
        said: str,
        place: int,
        round: int | None = None,  # noqa: A002 - a duel's, as everywhere
        logged: tuple[int, int, tuple[float, ...]] | None = None,
        asked: tuple[int, int, tuple[float, ...]] | None = None,
    ) -> None:
        super().__init__(said)
        self.place, self.round = place, round
        self.logged, self.asked = logged, asked
