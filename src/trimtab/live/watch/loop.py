"""The loop around `step`: records a cluster, decides beside it, says and writes what comes out."""

from __future__ import annotations

import json
import os
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextlib import closing as closed
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab.diagnose.deployment import deployment
from trimtab.ingest.confs import runtime_config
from trimtab.ingest.outcome import Origin, Rows
from trimtab.lab.costs import Knowledge
from trimtab.lab.planning.snapshot import is_learned
from trimtab.live.apply.clock import Clock
from trimtab.live.gather import Access, GatherError, GatherRequest, gather
from trimtab.live.gather.copies import log_folders
from trimtab.live.gather.folder import folder_name
from trimtab.live.watch.actor import ActingRequest, Actor, acting
from trimtab.live.watch.costs import Learning, learning, with_rows
from trimtab.live.watch.document import line_of
from trimtab.live.watch.listener import Listening
from trimtab.live.watch.memory import Memory, learned
from trimtab.live.watch.nouns import (
    Action,
    Arrivals,
    Decided,
    Foretold,
    Relearn,
    Settings,
    Steered,
)
from trimtab.live.watch.plans import limits_of
from trimtab.live.watch.proposals import Proposal, of_round, of_turn
from trimtab.live.watch.shadow import Beside, chosen, goes_by_answers, reads_store
from trimtab.live.watch.steering.kept import Kept
from trimtab.live.watch.steering.turns import Turns, turns
from trimtab.live.watch.step import decided_at_once, step
from trimtab.live.watch.tails import Tails
from trimtab.live.watch.tally import Tally, View

_TICK_S = 0.5
#: s after which what was learned of costs is written again.
_WRITTEN_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class KeptCosts:
    """What was learned of costs before, and what keeps what is learned."""

    known: Knowledge | None = None
    write: Callable[[Knowledge], None] = lambda known: None


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """What a strategy of trimtab's own remembered before, and what keeps what it remembers."""

    kept: Kept | None = None
    write: Callable[[Kept], None] = lambda kept: None


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What is asked of a watch."""

    #: What is recorded meanwhile.
    gathering: GatherRequest
    access: Access
    #: Folder to record into; new or empty.
    output: Path
    #: Who decides beside Pulsar.
    beside: Beside
    #: What is decided is carried out; None: nothing is changed.
    acting: ActingRequest | None = None
    costs: KeptCosts = field(default_factory=KeptCosts)
    memory: KeptMemory = field(default_factory=KeptMemory)


def watch(request: WatchRequest, is_over: threading.Event) -> Iterator[View]:
    """Return the steps of a watch, until the time is up or it is over.

    Yields:
        What there is to see, about twice a second.

    Raises:
        GatherError: the cluster cannot be recorded or watched.
        LockError: somebody else acts on the cluster.
    """
    with ExitStack() as closing:
        listening = Listening(
            request.output,
            sees_writes=request.gathering.metadata is not None,
            keeps_answers=goes_by_answers(request.beside),
        )
        thread = closing.enter_context(ThreadPoolExecutor(1, "gather"))
        # Whatever ends the watch ends the recording.
        closing.callback(is_over.set)
        clock = Clock()
        began = clock.now
        recording = thread.submit(
            gather, request.gathering, request.access, request.output, is_over, listening.take
        )
        while not recording.done() and not (request.output / "recording.toml").exists():
            time.sleep(0.05)
        if recording.done():
            recording.result()
        settings = _settings(request)
        tails = closing.enter_context(closed(Tails(log_folders(request.gathering.logs))))
        actor = closing.enter_context(_actor(request, settings, is_over))
        now = _Now(
            settings,
            Memory(began=began),
            Tally(),
            learning(request.costs.known),
            _turns(request, settings, began),
        )
        closing.callback(lambda: _keep(request, now, clock.time_s))
        while True:
            is_last = recording.done()
            rows = [*listening.rows(), *tails.rows()]
            yield from _steps(
                request, now, actor, Arrivals(clock.now, rows, misread=tails.misread()), listening
            )
            if is_last:
                break
            time.sleep(_TICK_S)
        if not request.gathering.duration_s:
            yield now.view(request, _at_once(now, clock.now), listening)
        yield now.view(request, list(actor.end()) if actor else [], listening)
    # Raises what the recording has ended with.
    recording.result()


@dataclass(slots=True)
class _Now:
    """How far a watch has come."""

    settings: Settings
    memory: Memory
    tally: Tally
    #: Of what traffic costs.
    learning: Learning
    #: Of a strategy of trimtab's own; None where one of Pulsar's classes decides beside.
    turns: Turns | None = None
    #: s since 1970 at which it was last written.
    written_s: float = 0.0

    def view(self, request: WatchRequest, actions: list[Action], listening: Listening) -> View:
        """Return the view of a step, whose actions are written."""
        _write(request.output, actions)
        self.tally.add(actions)
        return View(
            self.settings,
            self.memory,
            actions,
            self.tally,
            n_rejected=listening.n_rejected,
            rejected_because=listening.rejected_because,
            costs=self.learning.costs if self.memory.known is not None else None,
            unanswered=listening.unanswered,
        )


def _steps(
    request: WatchRequest, now: _Now, actor: Actor | None, arrivals: Arrivals, listening: Listening
) -> Iterator[View]:
    """Return the view of a step: take what has come in, carry out what is decided."""
    if actor is not None:
        arrivals = replace(arrivals, unloaded=actor.unloaded())
    turned = _turn(now, arrivals, listening, is_busy=actor is not None and actor.is_busy)
    actions, now.memory = step(arrivals, now.memory, now.settings)
    actions = [*turned, *actions]
    _learn(request, now, arrivals)
    for action in actions:
        if isinstance(action, Relearn):
            now.memory = learned(now.memory, now.settings, action, listening.again())
    if actor is not None:
        actions += actor.take(_proposals(actions), now.settings, now.learning.costs)
    yield now.view(request, actions, listening)


def _turn(
    now: _Now, arrivals: Arrivals, listening: Listening, *, is_busy: bool
) -> list[Steered | Foretold]:
    """Return what a strategy of trimtab's own does, if it is its turn."""
    if now.turns is None:
        return []
    rows = list(arrivals.rows)
    if now.settings.sees_writes and not now.settings.reads_store:
        # Who owns what and who is gone the store tells best; of their load brokers are asked.
        rows = [
            (table, row)
            for table, row in rows
            if table == "ownership" or (table == "load_reports" and row["is_gone"])
        ]
        rows += listening.answers()
    now.turns.take(rows)
    turned = now.turns.turn(arrivals.now, is_busy=is_busy)
    now.memory.steered += [each for each in turned if isinstance(each, Steered)]
    return turned


def _at_once(now: _Now, at: datetime) -> list[Action]:
    """Return what is decided now, not being due."""
    turned = now.turns.turn(at) if now.turns is not None else []
    now.memory.steered += [each for each in turned if isinstance(each, Steered)]
    return [*turned, *decided_at_once(now.memory, at, now.settings)]


def _proposals(actions: Sequence[Action]) -> list[Proposal]:
    """Return what may be carried out of what was decided: turns, or else rounds."""
    turned = [each for each in actions if isinstance(each, Steered)]
    if turned:
        return [of_turn(each) for each in turned]
    return [of_round(each) for each in actions if isinstance(each, Decided)]


def _keep(request: WatchRequest, now: _Now, now_s: float) -> None:
    """Write what is to survive a restart of the program."""
    request.costs.write(now.learning.costs.known)
    if now.turns is not None and (kept := now.turns.kept(now_s)) is not None:
        request.memory.write(kept)


def _turns(request: WatchRequest, settings: Settings, began: datetime) -> Turns | None:
    """Return the turns of a strategy of trimtab's own; None where one of Pulsar's decides."""
    who = request.beside
    if who.own is None:
        return None
    return turns(who.strategy, who.own, settings, began, request.memory.kept)


def _learn(request: WatchRequest, now: _Now, arrivals: Arrivals) -> None:
    """Take what has come in into what is known of costs, and keep that now and then."""
    before, now_s = now.learning.costs.known, arrivals.now.timestamp()
    now.learning = with_rows(now.learning, arrivals.rows, now_s, now.settings)
    known = now.learning.costs.known
    if known is before:
        return
    now.memory.known = known if is_learned(known) else None
    if now_s - now.written_s >= _WRITTEN_EVERY_S:
        now.written_s = now_s
        _keep(request, now, now_s)


@contextmanager
def _actor(
    request: WatchRequest, settings: Settings, is_over: threading.Event
) -> Iterator[Actor | None]:
    """Yield whoever carries out what is decided; None for nobody.

    Raises:
        GatherError: Pulsar sheds by itself, or a limit cannot be.
        LockError: somebody else acts on the cluster.
    """
    if request.acting is None:
        yield None
        return
    if settings.ran.manager.is_shedding_enabled and settings.ran.manager.is_enabled:
        raise GatherError(
            "--act: found loadBalancerSheddingEnabled true, expected false: two balancers would "
            "act at once; `pulsar-admin brokers update-dynamic-config` switches it off"
        )
    try:
        limits_of(settings, request.acting.limits)
    except ValueError as error:
        raise GatherError(f"--limit: {error}") from None
    with acting(request.acting, request.output / "watch" / "plans", is_over) as actor:
        yield actor


def _settings(request: WatchRequest) -> Settings:
    """Return what the cluster runs, by what has been recorded of it."""
    gathering, recording, beside = request.gathering, request.output, request.beside
    recording_toml = tomllib.loads((recording / "recording.toml").read_text(encoding="utf-8"))
    meta = {key: value for key, value in recording_toml.items() if isinstance(value, str)}
    rows: list[dict[str, Any]] = []
    for path in sorted((recording / "runtime-config").glob("*.json")):
        name = f"runtime-config/{path.name}"
        outcome = runtime_config(path.read_text("utf-8"), Origin(name, path.stem, UTC, None))
        if isinstance(outcome, Rows):
            rows += [{**row, "file": name} for _, row in outcome.rows]
    ran = deployment(meta, rows, (), ((), ()))
    manager = ran.conf.get("loadManagerClassName", "")
    if "Extensible" in manager:
        raise GatherError(
            f"loadManagerClassName: found {manager}, expected the modular load manager: "
            "under the extensible one the leader's load data are in no store; `trimtab gather` "
            "records that, for `trimtab explain`"
        )
    shed, place, conf = chosen(beside, ran)
    brokers = [table["id"] for table in recording_toml.get("brokers", {}).values()]
    return Settings(
        ran=ran,
        shedder=shed,
        placer=place,
        conf=conf,
        interval_s=beside.interval_s or ran.manager.shedding_interval_s,
        logs=_logs(gathering, brokers),
        sees_writes=gathering.metadata is not None,
        is_own=beside.own is not None,
        reads_store=reads_store(beside, sees_writes=gathering.metadata is not None),
    )


def _logs(gathering: GatherRequest, brokers: list[str]) -> dict[str, str]:
    """Return whose log each folder is."""
    names = {folder_name(broker): broker for broker in brokers}
    owners = {}
    for source in log_folders(gathering.logs):
        if source.name not in names:
            raise GatherError(
                f"--logs: found {source.path}, named {source.name}, expected BROKER=DIR with one "
                f"of {', '.join(sorted(brokers))}"
            )
        owners[source.name] = names[source.name]
    return owners


def _write(recording: Path, actions: list[Action]) -> None:
    """Add what was said to `watch/rounds.jsonl`; it is on the disk for good when this returns."""
    if not actions:
        return
    path = recording / "watch" / "rounds.jsonl"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    text = "".join(
        json.dumps(line_of(action), ensure_ascii=False, allow_nan=False) + "\n"
        for action in actions
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
