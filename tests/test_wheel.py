"""The wheel, built and installed into an environment that has the extra ``policies`` and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import domino_envs
from domino_envs.games import get_game
from domino_envs.learning.export import save_policy
from domino_envs.learning.policy import make_network
from domino_envs.policies import shipped_policies

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def needed(requirements: list[str] | None, extra: str = "") -> set[str]:
    """The distributions among these requirements that count here, without extras or with one."""
    found = set()
    for requirement in map(Requirement, requirements or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            found.add(canonicalize_name(requirement.name))
    return found


def closure(names: set[str]) -> set[str]:
    """These distributions and everything that they need."""
    found: set[str] = set()
    while names:
        found |= names
        names = {more for name in names for more in needed(metadata.requires(name))} - found
    return found


def link(name: str, site: Path) -> None:
    """Make a distribution that is installed here importable there, with its metadata."""
    for file in metadata.files(name) or []:
        top = file.parts[0]
        if top != ".." and top != "__pycache__" and not (site / top).exists():
            (site / top).symlink_to(Path(str(file.locate())).parents[len(file.parts) - 2] if len(file.parts) > 1
                                    else file.locate())  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the checkout."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "domino_envs", source / "domino_envs", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python with the wheel and its extra, whose requirements pip has found met, without anything downloaded."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        requirements = metadata.PathDistribution(zipfile.Path(archive, path).parent).requires
    for name in closure(needed(requirements, "policies")):
        link(name, site)
    executable = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(executable), "install", "--quiet", "--no-index"]
    # Neither there nor through PYTHONPATH may pip see the checkout, which would do for it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    requirement = f"domino_envs[policies] @ {wheel.as_uri()}"
    subprocess.run([*command, requirement], check=True, timeout=300, cwd=folder, env=environment)
    return executable


def test_the_wheel_holds_what_it_should(wheel: Path) -> None:
    assert Version(domino_envs.__version__) == Version(wheel.name.split("-")[1])
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = ROOT / "domino_envs"
    here = {path.relative_to(ROOT).as_posix() for path in package.rglob("*") if path.is_file()}
    here = {name for name in here if "__pycache__" not in name}
    assert {name for name in names if name.startswith("domino_envs/")} == here
    assert not any(name.startswith(("tests", "training")) for name in names)


def test_installed_it_plays_saved_policies_without_torch(python: Path, tmp_path: Path) -> None:
    network = make_network("mlp", get_game("mate"), {"width": 8, "blocks": 1})
    save_policy(tmp_path / "mine", get_game("mate"), network, {})
    code = """
import sys
import domino_envs, gymnasium
assert domino_envs.__file__.startswith(sys.prefix), domino_envs.__file__
for name in ("torch", "onnx", "stable_baselines3", "tyro"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise SystemExit(f"{name} should not be here")
from domino_envs.policies import shipped_policies
for source in (sys.argv[1], *shipped_policies()):
    policy = domino_envs.load_policy(source)
    name = "".join(word.capitalize() for word in policy.game.name.split("_"))
    env = gymnasium.make(f"domino_envs/{name}-v0", opponent=policy, episode="deal")
    observation, info = env.reset(seed=1)
    terminated = False
    while not terminated:
        observation, reward, terminated, _, info = env.step(policy(observation, info["action_mask"]))
    print(source, reward in (-1.0, 0.0, 1.0))
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # a few deals do not pay for compiling
    command = [python, "-I", "-W", "error", "-c", code, tmp_path / "mine"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{source} True" for source in (tmp_path / "mine", *shipped_policies())]


def test_the_installed_command_lists_policies(python: Path) -> None:
    done = subprocess.run(
        [python, "-I", "-W", "error", "-m", "domino_envs", "policies", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f'"name": "{name}"' in done.stdout for name in shipped_policies())
