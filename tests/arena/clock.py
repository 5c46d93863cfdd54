"""A clock that is set by hand."""


class Clock:
    """Tells the time it was told."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now
