"""A real cluster that asks for tokens: which role each command takes, and where no token goes.

What docs/permissions.md names is enough; the next smaller role, the administrator of the
tenant, is told in one line what it may not do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.pulsar

ROOT = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "pulsar", *sys.path])}
WAIT_S = 120.0
TENANT_ADMIN, NOBODY = "tenant-admin", "nobody"
COMMANDS = ("gather", "watch", "apply", "drain")


class Guarded:
    """A cluster that asks for tokens, and who may ask it."""

    def __init__(self, folder: Path, address: str, broker: str, other: str) -> None:
        self.folder, self.address, self.broker, self.other = folder, address, broker, other

    def conf(self, role: str) -> Path:
        from cluster.tokens import client_conf

        return client_conf(self.folder, role)

    def tokens(self) -> list[bytes]:
        """Give what nothing may hold: each token, and its signature alone."""
        from cluster.tokens import SUPER_USER, token

        whole = [token(self.folder, role) for role in (SUPER_USER, TENANT_ADMIN, NOBODY)]
        return [part.encode() for each in whole for part in (each, each.rpartition(".")[2])]

    def put(self, path: str, body: object) -> None:
        from cluster.tokens import SUPER_USER, token

        request = urllib.request.Request(
            f"{self.address}/admin/v2/{path}",
            json.dumps(body).encode(),
            {
                "Content-Type": "application/json",
                "Authorization": f"Bearer {token(self.folder, SUPER_USER)}",
            },
            method="PUT",
        )
        last = time.monotonic() + WAIT_S
        while True:
            try:
                urllib.request.urlopen(request, timeout=30).close()
                return
            except urllib.error.HTTPError as error:
                # A broker that has just started may not lead or serve yet.
                assert error.code >= 500, error.read()
                assert time.monotonic() < last, error
                time.sleep(0.5)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    from cluster.run import FOLDER, down, stopped_on_failure, up
    from cluster.state import State, broker_id, web

    with stopped_on_failure(FOLDER):
        settings = {"loadBalancerSheddingEnabled": "false"}
        up(State(FOLDER, settings=settings, asks_for_tokens=True), 2)
        found = Guarded(FOLDER, web(1), broker_id(1), broker_id(2))
        found.put("tenants/shop", {"allowedClusters": ["loopback"], "adminRoles": [TENANT_ADMIN]})
        found.put("namespaces/shop/orders", {"bundles": {"numBundles": 4}})
        for i in range(4):
            found.put(f"persistent/shop/orders/t-{i}", {})
        yield found
        down(FOLDER)


def words(command: str, guarded: Guarded, folder: Path) -> list[str]:
    """Give a command as it is typed, but for who asks."""
    plan = {
        "cluster": "loopback",
        "made_s": time.time(),
        "moves": [
            {
                "bundle": "shop/orders/0x00000000_0x40000000",
                "source": guarded.broker,
                "destination": guarded.other,
                "reason": "a test",
            }
        ],
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    rest = {
        "gather": ["-o", str(folder / "night"), "--once"],
        "watch": ["-o", str(folder / "beside"), "--once"],
        "apply": [str(folder / "plan.json"), "--state", str(folder / "state")],
        "drain": [
            *(guarded.broker, "-o", str(folder / "drain.json"), "--bar", "100"),
            *("--state", str(folder / "state")),
        ],
    }
    return [sys.executable, "-m", "trimtab", command, *rest[command], "--admin", guarded.address]


def run(command: list[str]) -> tuple[int, bytes, list[bytes]]:
    """Run a command; return its exit code, all it printed, and how it stood in the process list."""
    with subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        listed = []
        last = time.monotonic() + WAIT_S
        while process.poll() is None and time.monotonic() < last:
            listed.append(Path(f"/proc/{process.pid}/cmdline").read_bytes())
            time.sleep(0.2)
        process.kill()
        said, _ = process.communicate()
    return process.returncode, said, listed


@pytest.mark.parametrize("command", COMMANDS)
def test_the_documented_role_is_enough_and_its_token_goes_nowhere(
    command: str, guarded: Guarded, tmp_path: Path
) -> None:
    conf = guarded.conf("super")
    code, said, listed = run([*words(command, guarded, tmp_path), "--client-conf", str(conf)])

    # 1: a guard objects, as to brokers that have only just started.
    assert code in {0, 1}, said.decode()
    assert b"may not" not in said
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(written) > (5 if command in {"gather", "watch"} else 0)
    assert any(listed)
    for text in (said, *listed, *written.values()):
        assert not [each for each in guarded.tokens() if each in text]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("role", "why"),
    [(TENANT_ADMIN, b"401 who asks may not"), (None, b"401 who asks is not known")],
)
def test_one_less_is_told_in_one_line(
    command: str, role: str | None, why: bytes, guarded: Guarded, tmp_path: Path
) -> None:
    who = ["--client-conf", str(guarded.conf(role))] if role else []
    code, said, _ = run([*words(command, guarded, tmp_path), *who])

    assert code == 2, said.decode()
    assert why in said
    assert said.count(b"\n") == 1, said.decode()
    assert not [each for each in guarded.tokens() if each in said]


def test_what_the_brokers_hold_of_tokens_is_not_recorded(guarded: Guarded, tmp_path: Path) -> None:
    conf = guarded.conf("super")
    code, said, _ = run([*words("gather", guarded, tmp_path), "--client-conf", str(conf)])

    assert code == 0, said.decode()
    (runtime, *_) = sorted((tmp_path / "night" / "runtime-config").glob("*.json"))
    told = json.loads(runtime.read_text())
    assert told["brokerClientAuthenticationParameters"] == "(left out)"
    assert told["superUserRoles"]
