"""What tests share: one Spark a run, and how hard Hypothesis tries."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark import SparkContext
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

# `--doctest-modules` would import what has no tests, too.
collect_ignore = [
    path.name for path in Path(__file__).parent.iterdir() if not path.name.startswith("test_")
]

# The same examples on every run where a failure must be the change's fault; new ones
# on a desk, where a failure is a find.  No deadline: the machine is shared.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("quick", deadline=None, print_blob=True, max_examples=20)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


# Workers of one run have a cluster each, see testbed/cluster/state.py.
if (_worker := os.environ.get("PYTEST_XDIST_WORKER")) is not None:
    os.environ["TRIMTAB_CLUSTER"] = str(1 + int(_worker.removeprefix("gw")))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the long form of tests that try what chance brings, and the repetition of one draw."""
    parser.addoption(
        "--exhaustive", action="store_true", help="draw, damage, kill ten times as often and more"
    )
    parser.addoption("--seed", type=int, help="draw only this one, as a failure says")


def pytest_configure() -> None:
    """Heed Ctrl-C as tests ask for it, though a shell that runs this behind itself ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Return who hands out the tests on real clusters, whole groups of files to a worker each."""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    from loopback_cluster import group_of

    class ByCluster(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.partition("::")[0])

    return ByCluster(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for Spark, and what has a long form, so that nobody has to remember to."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "spark" in fixtures:
            item.add_marker("spark")
        if "is_exhaustive" in fixtures:
            item.add_marker("exhaustive")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the real cluster that tests share, if any of this run could have started it."""
    if any(item.get_closest_marker("pulsar") for item in getattr(session, "items", ())):
        from loopback_cluster import stop_shared_cluster

        stop_shared_cluster()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkContext]:
    """The run's Spark: a second Java would cost seconds and half a gigabyte."""
    from trimtab.spark.session import started

    ours = started(log=tmp_path_factory.mktemp("spark") / "spark.log")
    yield ours
    ours.stop()


@pytest.fixture(scope="session")
def is_exhaustive(pytestconfig: pytest.Config) -> bool:
    """Whether tests that have a long form are to run in it."""
    return bool(pytestconfig.getoption("--exhaustive"))


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of hand-made recordings."""
    return Path(__file__).parent / "testdata" / "recordings"
