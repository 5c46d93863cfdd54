"""What `pip install` puts into somebody's own project works there, with no repository in sight.

The long test borrows the packages that are installed here, so it needs no network. `make
test-wheel` lets pip install everything anew, on each Python that it finds on this machine.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

import driftduel

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NEED_NO_EXTRA = {"live_votes", "prompt_panel", "votes_in_a_database"}
PYTHONS = ("3.11", "3.12", "3.13")
WORLD = "geometric-btl:arms=3,rounds=2000"
# A command, and what must be there when it has run.
CORE = (
    ("--version", None),
    ("worlds", None),
    ("policies", None),
    (f"measure --world {WORLD}", None),
    (f"play --policy anaconda:rule=calibrated --world {WORLD}", None),
    (f"trace --policy king --world {WORLD} --out trace.csv", "trace.csv"),
)
EXTRAS = (
    (f"compare --world {WORLD} --policy king --policy uniform --runs 3 --out games", "games"),
    ("table games", None),
    ("report games", "games/report/index.html"),
    ("suite --policy uniform --worlds 1 --runs 2 --out suite", "suite"),
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = out.glob("*.tar.gz")
    return path


def test_the_sdist_builds_the_same_wheel(sdist, wheel, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    assert built.name == wheel.name
    contents = [
        {item.filename: item.CRC for item in zipfile.ZipFile(path).infolist()}
        for path in (built, wheel)
    ]
    assert contents[0] == contents[1]


def test_everything_that_the_package_reads_is_in_the_wheel(wheel):
    source = ROOT / "src"
    here = {
        path.relative_to(source).as_posix()
        for path in (source / "driftduel").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == here
    assert not any("research" in name for name in packed)
    kinds = {Path(name).suffix for name in packed}
    assert {".py", ".json", ".toml", ".css"} <= kinds


class Project:
    """An empty folder of somebody who has installed the wheel."""

    def __init__(self, folder, python=None):
        self.away, self.place = folder / "project", folder / "venv"
        self.away.mkdir()
        if python is None:
            venv.create(self.place, with_pip=False)
        else:
            self.run([python, "-m", "venv", self.place])
        self.python = self.place / "bin" / "python"

    def run(self, command):
        """Run a command in the project, without anything that leads back to the repository."""
        lead = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_DISABLE_JIT")
        clean = {name: value for name, value in os.environ.items() if name not in lead}
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=self.away, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def borrow(self, wheel):
        """Unpack the wheel, and let the project see what else is installed here."""
        (site,) = self.place.glob("lib/python*/site-packages")
        zipfile.ZipFile(wheel).extractall(site)
        # A path and no more: the .pth file there, which leads to the repository, is not read.
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        # The same code has the same kernels anywhere: what was compiled here is not compiled again.
        here = Path(driftduel.__file__).parent
        for kernel in here.rglob("*.nbc"):
            there = site / "driftduel" / kernel.relative_to(here)
            there.parent.mkdir(exist_ok=True)
            there.symlink_to(kernel)

    def install(self, package, extras="[all]"):
        """Install a wheel or an sdist with pip."""
        pip = [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        self.run([*pip, f"{package}{extras}"])

    def check(self, commands, examples):
        where = self.run([self.python, "-c", "import driftduel; print(driftduel.__file__)"])
        assert Path(where.strip()).is_relative_to(self.place)
        for words, made in commands:
            said = self.run([self.python, "-m", "driftduel", *words.split()])
            assert said.strip(), words
            assert made is None or (self.away / made).exists(), words
        for example in examples:
            copy = shutil.copy(example, self.away)
            self.run([self.python, copy])


@pytest.mark.slow
def test_the_core_works_outside_the_repository(wheel, tmp_path):
    project = Project(tmp_path)
    project.borrow(wheel)
    project.check(CORE, [path for path in EXAMPLES if path.stem in NEED_NO_EXTRA])
    assert driftduel.__version__ in project.run([project.python, "-m", "driftduel", "--version"])


@pytest.mark.long
def test_the_extras_work_outside_the_repository(wheel, tmp_path):
    for package in ("polars", "scipy", "matplotlib", "plotly", "jinja2", "msgspec"):
        pytest.importorskip(package)
    project = Project(tmp_path)
    project.borrow(wheel)
    project.check(EXTRAS, [path for path in EXAMPLES if path.stem not in NEED_NO_EXTRA])


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_pip_installs_all_that_is_needed(version, wheel, tmp_path):
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    project = Project(tmp_path, python)
    project.install(wheel)
    assert re.match(rf"Python {version}\.", project.run([project.python, "--version"]))
    project.check(CORE + EXTRAS, EXAMPLES)
    script = project.place / "bin" / "driftduel"
    assert project.run([script, "--version"]) == f"driftduel {driftduel.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_pip_installs_the_sdist(version, sdist, tmp_path):
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    project = Project(tmp_path, python)
    project.install(sdist, extras="")
    project.check(CORE, [])


def find_python(version):
    """Return an interpreter of this version that answers, or None."""
    for name in (f"python{version}", *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        if found := shutil.which(name):
            asked = subprocess.run([found, "--version"], capture_output=True, check=False)
            if asked.returncode == 0:  # a shim of pyenv is there even where its Python is not
                return found
    return None
