"""A ZooKeeper that wants TLS, a digest or SASL is got into by a client.conf; no secret is shown."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.protocol.states import KeeperState
from kazoo.security import make_digest_acl

from tests.prometheus_server import free_port
from trimtab.live.apply.post import LockError
from trimtab.live.apply.store_lock import Store, opened_store, store_lock
from trimtab.live.control.entries import Asked
from trimtab.live.gather.access import Access, GatherError, read_access
from trimtab.live.gather.folder import Folder
from trimtab.live.gather.store_access import StoreAccessError
from trimtab.live.gather.watched_store import ACL_CLOSED, WatchedStore
from trimtab.spark.java import find_java

TLS = Path(__file__).parent / "testdata" / "gather" / "tls"
JARS = Path(pyspark.__file__).parent / "jars"
SECRET = "hush-hush-hush"
DIGEST = f"zookeeperDigest=trimtab:{SECRET}"
TRUSTED = ("zookeeperTls=true", f"zookeeperTlsTrustCertsFilePath={TLS / 'ca.pem'}")
OURS = (
    f"zookeeperTlsCertificateFilePath={TLS / 'client.pem'}",
    f"zookeeperTlsKeyFilePath={TLS / 'client.key'}",
)
#: Java may be slow to start beside others.
WITHIN_S = 180.0
REPORT = b'{"brokerVersionString": "4.0.8"}'


def access(folder: Path, *lines: str, checks_host: bool = True) -> Access:
    path = folder / "client.conf"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_access(path, checks_host=checks_host)


# ------------------------------------------------------------------ the file


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"zookeeperDigest={SECRET}", "found something else, expected user:password, file:///… or"),
        (f"zookeeperSasl={SECRET}", "found something else, expected user:password, file:///… or"),
        ("zookeeperSasl=env:TRIMTAB_NOWHERE", "found no variable TRIMTAB_NOWHERE, expected one"),
        (
            f"zookeeperSasl=trimtab:{SECRET}\nzookeeperDigest=trimtab:{SECRET}",
            "found zookeeperDigest and zookeeperSasl, expected one of them",
        ),
        (f"zookeeperDigest=:{SECRET}", "found something else, expected user:password"),
        ("zookeeperDigest=file:///nowhere/digest", "found /nowhere/digest, expected a file with"),
        ("zookeeperTls=yes", "key zookeeperTls: found 'yes', expected true or false"),
        (
            "zookeeperTls=true\nzookeeperTlsTrustCertsFilePath=/nowhere",
            "found /nowhere, expected certificates in PEM",
        ),
        (
            f"zookeeperTls=true\nzookeeperTlsCertificateFilePath={TLS / 'client.pem'}",
            "expected a certificate in PEM and its key without a password",
        ),
    ],
)
def test_what_cannot_be_followed_is_said_without_the_secret(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(StoreAccessError) as raised:
        access(tmp_path, line)

    assert str(tmp_path / "client.conf") in str(raised.value)
    assert said in str(raised.value)
    assert SECRET not in str(raised.value)


def test_nothing_of_it_is_shown(tmp_path: Path) -> None:
    assert SECRET not in repr(access(tmp_path, DIGEST))


def test_a_digest_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "digest"
    secret.write_text(f"trimtab:{SECRET}\n", encoding="utf-8")
    there = access(tmp_path, f"zookeeperDigest=file://{secret}")

    assert there.store == access(tmp_path, DIGEST).store


def test_a_login_may_lie_in_a_file_or_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "login"
    secret.write_text(f"trimtab:{SECRET}\n", encoding="utf-8")
    monkeypatch.setenv("TRIMTAB_LOGIN", f"trimtab:{SECRET}")
    places = (f"trimtab:{SECRET}", f"file://{secret}", "env:TRIMTAB_LOGIN")
    stores = [access(tmp_path, f"zookeeperSasl={each}").store for each in places]

    assert stores[0]["sasl_options"]["password"] == SECRET
    assert stores[0] == stores[1] == stores[2]
    assert SECRET not in repr(access(tmp_path, f"zookeeperSasl={places[0]}"))


# ------------------------------------------------------------ a real ZooKeeper


@dataclass(frozen=True)
class ZooKeeper:
    plain: str
    secure: str


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """One that takes TLS at a port of its own, from whoever brings a certificate of our authority.

    It has what a cluster's has, and its reports are those of whoever has the digest.
    """
    folder = tmp_path_factory.mktemp("zookeeper")
    plain, secure = free_port(), free_port()
    lines = {
        "dataDir": folder / "data",
        "clientPortAddress": "127.0.0.1",
        "clientPort": plain,
        "secureClientPortAddress": "127.0.0.1",
        "secureClientPort": secure,
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": TLS / "broker.pem",
        "ssl.trustStore.location": TLS / "ca.pem",
        "ssl.clientHostnameVerification": "false",
        "admin.enableServer": "false",
        "tickTime": 500,
    }
    with served(folder, lines):
        client = KazooClient(
            hosts=f"127.0.0.1:{plain}", auth_data=[("digest", f"trimtab:{SECRET}")]
        )
        try:
            client.start(WITHIN_S)
            acl = [make_digest_acl("trimtab", SECRET, all=True)]
            for path in ("/loadbalance/brokers", "/namespace"):
                client.ensure_path(path)
            client.create("/loadbalance/brokers/broker-1:8080", REPORT, acl=acl)
            client.create("/closed", acl=acl)
            client.create("/closed/loadbalance", acl=acl)
            yield ZooKeeper(f"127.0.0.1:{plain}", f"127.0.0.1:{secure}")
        finally:
            client.stop()
            client.close()


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return where one listens that takes only who logs in by SASL; it has what a cluster's has."""
    folder, port = tmp_path_factory.mktemp("asking"), free_port()
    jaas = folder / "jaas.conf"
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    jaas.write_text(f'Server {{ {module} required user_trimtab="{SECRET}"; }};\n')
    provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
    lines = {
        **{"dataDir": folder / "data", "clientPortAddress": "127.0.0.1", "clientPort": port},
        **{"authProvider.sasl": provider, "admin.enableServer": "false", "tickTime": 500},
        **{"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"},
    }
    known = {"mechanism": "DIGEST-MD5", "username": "trimtab", "password": SECRET}
    with served(folder, lines, f"-Djava.security.auth.login.config={jaas}"):
        client = KazooClient(hosts=f"127.0.0.1:{port}", sasl_options=known)
        try:
            client.start(WITHIN_S)
            for path in ("/loadbalance/brokers", "/namespace"):
                client.ensure_path(path)
            client.create("/loadbalance/brokers/broker-1:8080", REPORT)
            yield f"127.0.0.1:{port}"
        finally:
            client.stop()
            client.close()


@contextmanager
def served(folder: Path, lines: Mapping[str, object], *options: str) -> Iterator[None]:
    """Run a ZooKeeper with such a zoo.cfg, and such options of Java."""
    conf = folder / "zoo.cfg"
    conf.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    words = ["-Xmx128m", *options, "-cp", f"{JARS}/*", main, conf]
    java = [find_java() / "bin" / "java", *words]
    with (folder / "log").open("wb") as log, subprocess.Popen(java, stdout=log, stderr=log) as it:
        try:
            yield
        finally:
            it.terminate()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def store(opened: ExitStack, where: str, found: Access) -> Store:
    return opened.enter_context(opened_store(f"zk://{where}", options=found.store))


@pytest.mark.slow
def test_a_lock_that_is_made_with_a_digest_is_its_owners(
    zookeeper: ZooKeeper, opened: ExitStack, tmp_path: Path
) -> None:
    ours = store(opened, zookeeper.plain, access(tmp_path, DIGEST))
    theirs = store(opened, zookeeper.plain, read_access(None))
    with store_lock(ours) as lock:
        lock.note(Asked(1.7e9, 0, "shop/orders/0x0_0x8", "broker-1:8080", "broker-2:8080"))
        assert lock.is_ours
        # Everybody sees it, and nobody else can take it away.
        assert theirs.brokers() == {"broker-1:8080"}
        assert [each.bundle for each in theirs.unloads()] == ["shop/orders/0x0_0x8"]
        for path in ("/trimtab/unloads", "/trimtab/token"):
            with pytest.raises(NoAuthError):
                theirs.client.set(path, b"[]")
        with pytest.raises(NoAuthError):
            theirs.client.delete("/trimtab/lock")
    with pytest.raises(LockError, match="its ACLs do not let us: see zookeeperDigest"):
        opened.enter_context(store_lock(theirs))


@pytest.mark.slow
@pytest.mark.parametrize("with_digest", [True, False])
def test_reports_that_not_everybody_may_read_are_recorded_with_the_digest(
    zookeeper: ZooKeeper, tmp_path: Path, with_digest: bool
) -> None:
    found = access(tmp_path, *([DIGEST] if with_digest else []))
    folder = Folder(tmp_path / "night")
    counts = WatchedStore(zookeeper.plain, folder, threading.Event(), found.store).close()
    folder.close()

    assert counts.reports == int(with_digest)
    trouble = (folder.path / "gather.jsonl").read_text(encoding="utf-8")
    assert (ACL_CLOSED in trouble) is not with_digest
    assert SECRET not in trouble


@pytest.mark.slow
def test_a_cluster_that_is_closed_is_said_to_be(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    with pytest.raises(GatherError, match="its ACLs do not let us: see zookeeperDigest"):
        WatchedStore(f"{zookeeper.plain}/closed", Folder(tmp_path / "night"), threading.Event())


@pytest.mark.slow
def test_tls_is_spoken_with_our_certificate(
    zookeeper: ZooKeeper, opened: ExitStack, tmp_path: Path
) -> None:
    found = access(tmp_path, DIGEST, *TRUSTED, *OURS)
    with store_lock(store(opened, zookeeper.secure, found)) as lock:
        assert lock.is_ours


@pytest.mark.slow
@pytest.mark.parametrize(
    "lines", [(), TRUSTED, ("zookeeperTls=true", *OURS)], ids=["plain", "nobody", "untrusted"]
)
def test_who_may_not_get_in_is_told_where_to_look(
    zookeeper: ZooKeeper, opened: ExitStack, tmp_path: Path, lines: tuple[str, ...]
) -> None:
    found = access(tmp_path, *lines)
    with pytest.raises(GatherError, match=r"does it want TLS .zookeeperTls in the client.conf"):
        opened.enter_context(opened_store(f"zk://{zookeeper.secure}", 2.0, found.store))


SASL = f"zookeeperSasl=trimtab:{SECRET}"


@pytest.mark.slow
def test_a_lock_that_is_made_after_a_login_is_its_owners(
    asking: str, opened: ExitStack, tmp_path: Path
) -> None:
    ours = store(opened, asking, access(tmp_path, SASL))
    with store_lock(ours) as lock:
        assert lock.is_ours
        assert ours.brokers() == {"broker-1:8080"}
        (acl, *_), _ = ours.client.get_acls("/trimtab/lock")
        assert (acl.id.scheme, acl.id.id) == ("sasl", "trimtab")


@pytest.mark.slow
def test_what_only_a_login_shows_is_recorded(asking: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "night")
    found = access(tmp_path, SASL)
    counts = WatchedStore(asking, folder, threading.Event(), found.store).close()
    folder.close()

    assert counts.reports == 1
    texts = [path.read_text(encoding="utf-8") for path in folder.path.rglob("*") if path.is_file()]
    assert not any(SECRET in text for text in texts)


def test_a_login_that_is_refused_before_anybody_looks_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(client: KazooClient) -> None:
        client._session_callback(KeeperState.CONNECTED)  # as its connection does
        client._session_callback(KeeperState.AUTH_FAILED)  # and just after that

    monkeypatch.setattr(KazooClient, "start_async", refused)
    found = access(tmp_path, f"zookeeperSasl=trimtab:{SECRET}")
    message = r"zk://127\.0\.0\.1:1: it ended the connection at the login: see user and password"
    with (
        pytest.raises(GatherError, match=message),
        opened_store("zk://127.0.0.1:1", 20.0, found.store),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "advice"),
    [
        ((), "it takes only who logs in by SASL: see zookeeperSasl in the client.conf"),
        (
            ("zookeeperSasl=trimtab:another",),
            "it ended the connection at the login: see user and password of zookeeperSasl in the",
        ),
    ],
    ids=["nobody", "wrong"],
)
@pytest.mark.parametrize("way", ["lock", "watch"])
def test_a_login_that_is_refused_is_told_in_one_line(
    *, asking: str, tmp_path: Path, lines: tuple[str, ...], advice: str, way: str
) -> None:
    # The whole process: what a library's thread prints would stand beside the line.
    access(tmp_path, *lines)
    ways = {
        "lock": "with opened_store('zk://' + sys.argv[1], 20.0, found.store): pass",
        "watch": "WatchedStore(sys.argv[1], Folder(Path(sys.argv[2]) / 'night'), Event(), "
        "found.store)",
    }
    code = f"""if True:
        import sys
        from pathlib import Path
        from threading import Event
        from trimtab.cli.surroundings import quiet_libraries
        from trimtab.live.apply.store_lock import opened_store
        from trimtab.live.gather.access import GatherError, read_access
        from trimtab.live.gather.folder import Folder
        from trimtab.live.gather.watched_store import WatchedStore
        found = read_access(Path(sys.argv[2]) / "client.conf")
        with quiet_libraries():
            try:
                {ways[way]}
            except GatherError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, asking, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )

    assert done.stdout.startswith(f"zk://{asking}: {advice}"), done.stdout + done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    assert "another" not in done.stdout + done.stderr
