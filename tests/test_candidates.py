"""Who may get a bundle: each filter as a text file, and what holds for all of them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from tests.cluster_text import cluster
from tests.datadriven import run
from tests.test_properties import ANY, FEW
from trimtab.pulsar import candidates
from trimtab.pulsar.candidates import (
    CHAINS,
    BrokerFilterError,
    Brokers,
    IsolationPolicy,
    LostSelectionError,
    Request,
    chain,
    chosen_again,
    considered,
    what_forbids_unload,
)
from trimtab.pulsar.model import ClusterLoad
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.settings import candidate_settings, unknown_keys

ROOM = Path(__file__).parent / "testdata" / "candidates"
FILES = sorted(ROOM.glob("*.txt"))
MANAGERS = {"modular": "ModularLoadManagerImpl", "extensible": "ExtensibleLoadManagerImpl"}
CLASSES = {
    "modular": "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
    "extensible": "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
    "none": None,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_filter(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Bench(path.stem)),
        encoding="utf-8",
        fullpath=path,
        obtained_filename=tmp_path / path.name,
    )


class Bench:
    """Brokers, policies and settings, and the filters of one file; a method is a command."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.rows: list[dict[str, str]] = []
        self.policies: list[IsolationPolicy] = []
        self.keys: dict[str, str] = {}

    def brokers(self, lines: tuple[str, ...]) -> str:
        """Set the brokers: `name key=value …`."""
        self.rows = []
        for line in lines:
            name, *words = line.split()
            self.rows.append({"name": name, **dict(word.split("=", 1) for word in words)})
        return f"{len(self.rows)} brokers"

    def policy(
        self, *, namespaces: str, primary: str, secondary: str = "", min_limit: str = "1"
    ) -> str:
        """Add an isolation policy; lists are separated by commas."""
        self.policies.append(
            IsolationPolicy(
                tuple(namespaces.split(",")),
                tuple(primary.split(",")),
                tuple(filter(None, secondary.split(","))),
                int(min_limit),
            )
        )
        return f"{len(self.policies)} policies"

    def no_policies(self) -> str:
        self.policies = []
        return "0 policies"

    def conf(self, lines: tuple[str, ...]) -> str:
        self.keys = dict(line.split("=", 1) for line in lines)
        assert unknown_keys(self.keys) == ()
        return f"{len(self.keys)} keys"

    def keep(
        self,
        *,
        release: str = "4.0",
        manager: str = "modular",
        bundle: str = "t/n/0x0",
        topics: str = "persistent",
        among: str = "all",
    ) -> str:
        """Apply the filter of this file that a load manager has in a release."""
        applied = chain(MANAGERS[manager], release)
        assert applied is not None
        keeps = [f for _, f in applied.filters if _file(f) == self.file]
        if not keeps:
            return "has no such filter"
        asked = self._asked(release, bundle, topics)
        names = [row["name"] for row in self.rows]
        wanted = names if among == "all" else list(filter(None, among.split(",")))
        start = np.array([names.index(name) for name in wanted], dtype=np.int64)
        try:
            kept = keeps[0](start, asked)
        except (BrokerFilterError, LostSelectionError) as error:
            return f"{type(error).__name__}: {error}"
        return self._named(kept)

    def select(
        self, *, release: str = "4.0", manager: str = "modular", bundle: str = "t/n/0x0"
    ) -> str:
        """Apply all filters, and tell what each removed."""
        applied = chain(MANAGERS[manager], release)
        assert applied is not None
        everyone = np.arange(len(self.rows))
        try:
            found = considered(applied, everyone, self._asked(release, bundle, "persistent"))
        except LostSelectionError as error:
            return f"{type(error).__name__}: {error}"
        lines = [
            f"{step.name} "
            + (f"fails: {step.failure}" if step.failure else "removes ")
            + ("" if step.failure else self._named(step.removed))
            for step in found.steps
            if step.failure or step.removed.size
        ]
        which = "by policies alone " if found.is_fallback else "left "
        return "\n".join([*lines, which + self._named(found.brokers)])

    def again(self, *, chosen: str, release: str = "4.0", manager: str = "modular") -> str:
        """Tell among whom to choose again once a broker was chosen."""
        applied = chain(MANAGERS[manager], release)
        assert applied is not None
        position = [row["name"] for row in self.rows].index(chosen)
        asked = self._asked(release, "t/n/0x0", "persistent")
        try:
            found = chosen_again(applied, asked, self._load(), position)
        except ValueError as error:
            return f"{type(error).__name__}: {error}"
        return f"{chosen} stands" if found is None else f"again among {self._named(found)}"

    def leave(
        self,
        *,
        owner: str,
        release: str = "4.0",
        manager: str = "modular",
        bundle: str = "t/n/0x0",
    ) -> str:
        """Tell whether a bundle that was shed may leave its owner."""
        applied = chain(MANAGERS[manager], release)
        assert applied is not None
        position = [row["name"] for row in self.rows].index(owner)
        asked = self._asked(release, bundle, "persistent")
        why = what_forbids_unload(applied, asked, position)
        return "may leave" if why is None else f"stays: {why}"

    def _asked(self, release: str, bundle: str, topics: str) -> Request:
        rows = self.rows
        brokers = Brokers(
            # A name that has a colon is a whole one, and so is one in brackets.
            names=tuple(_id(row["name"]) for row in rows),
            is_reported=_flags(row.get("report") != "no" for row in rows),
            takes_persistent=_flags(row.get("serves") != "non-persistent" for row in rows),
            takes_non_persistent=_flags(row.get("serves") != "persistent" for row in rows),
            topics=_numbers(row.get("topics", 0) for row in rows),
            load_managers=tuple(CLASSES[row.get("class", "modular")] for row in rows),
            versions=tuple(row.get("version", "4.0.8").replace("none", "") for row in rows),
            domains=tuple(row.get("domain") for row in rows),
        )
        group = _numbers(row.get("group", 0) for row in rows)
        return Request(
            bundle=bundle,
            brokers=brokers,
            settings=candidate_settings(self.keys, release),
            namespace_bundles=_numbers(row.get("bundles", 0) for row in rows),
            group_members=group if any("group" in row for row in rows) else None,
            policies=tuple(self.policies),
            has_non_persistent_topic=topics == "non-persistent",
        )

    def _load(self) -> ClusterLoad:
        lines = [row for row in self.rows if row.get("report") != "no"]
        return cluster(tuple(f"{_id(row['name'])} {row.get('usage', '0.5')}" for row in lines))

    def _named(self, positions: Any) -> str:
        return ", ".join(self.rows[i]["name"] for i in positions) or "nobody"


def _id(name: str) -> str:
    """Give a broker a port, unless it is one of those written down without."""
    return name if name.startswith("portless") else f"{name}:8080"


def _flags(values: Iterable[bool]) -> Any:
    return np.array(list(values), dtype=np.bool_)


def _numbers(values: Iterable[Any]) -> Any:
    return np.array([int(value) for value in values], dtype=np.int64)


def _file(function: Any) -> str:
    return str(function.__module__.rpartition(".")[2])


# ------------------------------------------------------- the folder tells the order


def test_listing_of_the_folder_is_the_order_of_application() -> None:
    folder = Path(candidates.__file__).parent
    steps = [path.stem for path in sorted(folder.glob("step*.py"))]
    applied = CHAINS["ModularLoadManagerImpl", "5.0.1"]
    functions = [*(keep for _, keep in applied.filters), applied.second_chance]

    assert [_file(function) for function in functions] == steps
    assert [f"step{i + 1}_{f.__name__}" for i, f in enumerate(functions)] == steps


def test_every_filter_has_a_fixture_and_says_where_it_is_from() -> None:
    functions = {f for found in CHAINS.values() for _, f in (*found.filters, *found.before_unload)}
    functions |= {found.second_chance for found in CHAINS.values()}

    assert len(functions) > 10
    for function in functions:
        assert (ROOM / f"{_file(function)}.txt").is_file(), function
        docstring = inspect.getdoc(function) or ""
        assert "\nQuirks:\n" in docstring, function
        assert "\nSource:\n" in docstring, function


@pytest.mark.parametrize(
    ("manager", "release", "since"),
    [
        ("ModularLoadManagerImpl", "2.10", "2.10.0"),
        ("ModularLoadManagerImpl", "3.0.1", "3.0.0"),
        ("ModularLoadManagerImpl", "3.0", "3.0.7"),
        ("ModularLoadManagerImpl", "3.2.4", "3.1.0"),
        ("ModularLoadManagerImpl", "3.3", "3.3.2"),
        ("ModularLoadManagerImpl", "4.0.8", "4.0.0"),
        ("ModularLoadManagerImpl", "5.0", "5.0.1"),
        ("ModularLoadManagerImpl", "5.0.0-M1", "4.1.0"),
        ("ExtensibleLoadManagerImpl", "3.0.0", "3.0.0"),
        ("ExtensibleLoadManagerImpl", "4.0", "3.0.2"),
    ],
)
def test_chain_is_the_newest_that_is_not_newer(manager: str, release: str, since: str) -> None:
    assert chain(manager, release) is CHAINS[manager, since]


def test_unknown_load_managers_have_no_chain() -> None:
    assert chain("SimpleLoadManagerImpl", "4.0") is None
    assert chain("ExtensibleLoadManagerImpl", "2.10.4") is None
    assert all(release_order(since)[2] < 1_000 for _, since in CHAINS)


# ---------------------------------------------------------------- what holds for all


ROW = st.tuples(
    st.integers(0, 9).map(bool),  # reports
    st.booleans(),  # serves persistent topics
    st.booleans(),  # serves non-persistent topics
    st.integers(0, 3),  # topics
    st.sampled_from([CLASSES["modular"], CLASSES["modular"], "other", None]),
    st.sampled_from(["4.0.8", "4.0.9", "4.0.9+a", "4.0.9-M1", "x"]),
    st.sampled_from([None, "d1", "d2", "default"]),
    st.integers(0, 3),  # bundles of the namespace
    st.integers(0, 3),  # members of the group
)
PATTERNS = st.lists(st.sampled_from(["b0", "b[12]", "b.*", "x"]), max_size=2).map(tuple)
POLICY = st.builds(IsolationPolicy, st.just(("t/n",)), PATTERNS, PATTERNS, st.integers(0, 3))


@st.composite
def questions(draw: st.DrawFn) -> tuple[Request, Any]:
    rows = draw(st.lists(ROW, max_size=6))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 9
    is_even, is_later, is_domains, is_grouped = draw(st.tuples(*[st.booleans()] * 4))
    conf = {
        "loadBalancerBrokerMaxTopics": str(draw(st.integers(0, 3))),
        "loadBalancerDistributeBundlesEvenlyEnabled": str(is_even),
        "preferLaterVersions": str(is_later),
        "failureDomainsEnabled": str(is_domains),
    }
    asked = Request(
        bundle=draw(st.sampled_from(["t/n/0x0", "t/m/0x0", "pulsar/system/0x0"])),
        brokers=Brokers(
            tuple(f"b{i}:8080" for i in range(len(rows))),
            *map(_flags, columns[:3]),
            _numbers(columns[3]),
            *map(tuple, columns[4:7]),
        ),
        settings=candidate_settings(conf, "4.0"),
        namespace_bundles=_numbers(columns[7]),
        group_members=_numbers(columns[8]) if is_grouped else None,
        policies=tuple(draw(st.lists(POLICY, max_size=2))),
        has_non_persistent_topic=draw(st.booleans()),
    )
    order = draw(st.permutations(range(len(rows))))
    return asked, _numbers(order[: draw(st.integers(0, len(rows)))])


every_filter = pytest.mark.parametrize(
    "keep", sorted({f for c in CHAINS.values() for _, f in c.filters}, key=lambda f: f.__name__)
)


@pytest.mark.slow
@every_filter
@FEW
@given(question=questions())
def test_filter_keeps_candidates_in_their_order(keep: Any, question: Any) -> None:
    asked, start = question
    try:
        kept = keep(start, asked).tolist()
    except (BrokerFilterError, LostSelectionError):
        return

    assert [i for i in start.tolist() if i in kept] == kept
    assert len(set(kept)) == len(kept)


@pytest.mark.slow
@every_filter
@FEW
@given(question=questions())
def test_filter_keeps_nobody_of_nobody(keep: Any, question: Any) -> None:
    asked, _ = question
    try:
        assert keep(np.empty(0, dtype=np.int64), asked).size == 0
    except (BrokerFilterError, LostSelectionError) as error:
        assert "no brokers" in str(error) or "reports no load manager" in str(error)


@pytest.mark.slow
@every_filter
@FEW
@given(question=questions())
def test_filter_twice_is_the_same_as_once(keep: Any, question: Any) -> None:
    asked, start = question
    if _file(keep) == "step1_apply_namespace_policies":
        # Who is left may be fewer primaries than are wanted, but no fewer than before.
        start = np.arange(len(asked.brokers.names))
    try:
        kept = keep(start, asked)
    except (BrokerFilterError, LostSelectionError):
        return
    if kept.size:
        assert keep(kept, asked).tolist() == kept.tolist()


@pytest.mark.slow
@every_filter
def test_filter_does_filter(keep: Any) -> None:
    """Among the generated questions are some in which it removes somebody but not all."""

    def removes(question: Any) -> bool:
        asked, start = question
        try:
            return bool(0 < keep(start, asked).size < start.size)
        except (BrokerFilterError, LostSelectionError):
            return False

    assert removes(find(questions(), removes, settings=ANY))


@pytest.mark.slow
@pytest.mark.parametrize("key", CHAINS)
@FEW
@given(question=questions())
def test_whoever_is_no_candidate_was_removed_once(key: tuple[str, str], question: Any) -> None:
    asked, start = question
    try:
        found = considered(CHAINS[key], start, asked)
    except LostSelectionError:
        return
    removed = [i for step in found.steps for i in step.removed.tolist()]

    assert set(found.brokers.tolist()) <= set(start.tolist())
    assert len(set(removed)) == len(removed)
    if not found.is_fallback:
        assert sorted(removed + found.brokers.tolist()) == sorted(start.tolist())


@FEW
@given(question=questions())
def test_fallback_is_what_policies_allow(question: Any) -> None:
    asked, start = question
    found = considered(CHAINS["ModularLoadManagerImpl", "4.0.0"], start, asked)
    allowed = CHAINS["ModularLoadManagerImpl", "4.0.0"].policies(start, asked).tolist()

    assert set(found.brokers.tolist()) <= set(allowed)
    assert not found.is_fallback or found.brokers.tolist() == allowed
    assert bool(found.brokers.size) == bool(allowed)


@FEW
@given(question=questions())
def test_bundle_stays_only_if_something_forbids_it(question: Any) -> None:
    asked, _ = question
    modular = CHAINS["ModularLoadManagerImpl", "4.1.0"]
    free = dataclasses.replace(asked, policies=(), group_members=None)
    for owner in range(len(asked.brokers.names)):
        others = candidates.apply_namespace_policies(
            np.arange(len(asked.brokers.names)), free
        ).tolist()
        why = what_forbids_unload(modular, free, owner)

        assert (why is None) == bool(set(others) - {owner})
