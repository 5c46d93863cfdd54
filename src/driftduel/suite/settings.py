"""Parameter values of the rivals, from which the best one in hindsight is chosen."""

__all__ = ["SETTINGS"]

# The first value is the default of the suite.
SETTINGS = {
    "anaconda": (
        "anaconda", "anaconda:constant=0.5", "anaconda:constant=0.2", "anaconda:constant=0.1",
        "anaconda:constant=0.05", "anaconda:rule=calibrated",
    ),
    "metaswift": (
        "metaswift", "metaswift:constant=0.3", "metaswift:constant=0.1", "metaswift:constant=0.03",
        "metaswift:constant=0.01",
    ),
    "btwr": ("btwr",),
    "glr-dts": (
        "glr-dts", "glr-dts:explore=0.001", "glr-dts:explore=0.002", "glr-dts:explore=0.005",
        "glr-dts:explore=0.05", "glr-dts:explore=0.1", "glr-dts:explore=0.2",
    ),
    "mdb": ("mdb", "mdb:delta=0.5", "mdb:delta=0.7", "mdb:delta=0.9"),
    "detect-rucb": (
        "detect-rucb", "detect-rucb:delta=0.1", "detect-rucb:delta=0.5", "detect-rucb:delta=0.7",
        "detect-rucb:delta=0.9", "detect-rucb:setting=1",
    ),
    "dex3s": ("dex3s", "dex3s:switches=100", "dex3s:switches=1000"),
    "exp3s": ("exp3s", "exp3s:switches=0", "exp3s:switches=30", "exp3s:switches=300"),
}  # fmt: skip
"""Specs of each rival, by the name of the rival."""
