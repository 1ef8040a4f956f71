"""A client.conf is followed as pulsar-admin follows it, and no secret is ever shown."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path

import pytest

from tests import fake_admin as fake
from trimtab.live.gather.access import Access, GatherError, read_access
from trimtab.live.gather.calls import CallError, Calls, Limits
from trimtab.live.gather.client_conf import read_client_conf

TLS = Path(__file__).parent / "testdata" / "gather" / "tls"
SECRET = "hush-hush-hush"
TOKEN_PLUGIN = "authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken"
BASIC_PLUGIN = "authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationBasic"
TLS_PLUGIN = "authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationTls"
PATH = "/admin/v2/brokers"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    return tmp_path / "client.conf"


def access(conf: Path, *lines: str) -> Access:
    conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_access(conf)


# ------------------------------------------------------------------ the file


def test_a_file_of_properties_is_read_as_java_reads_it(conf: Path) -> None:
    conf.write_text(
        "# webServiceUrl=http://not-this:1\n"
        "! nor=this\n"
        "\n"
        "  webServiceUrl = http://broker-1:8080/ \n"
        "authParams: token:a=b:c \n"
        "tlsTrustCertsFilePath \n"
        "colon\\:key=x\\u0041\\tz\n"
        "long=one \\\n"
        "    two\n"
        "twice=1\n"
        "twice=2\n",
        encoding="utf-8",
    )

    assert read_client_conf(conf) == {
        "webServiceUrl": "http://broker-1:8080/",
        "authParams": "token:a=b:c",
        "tlsTrustCertsFilePath": "",
        "colon:key": "xA\tz",
        "long": "one two",
        "twice": "2",
    }


def test_without_a_file_nobody_in_particular_asks() -> None:
    found = read_access(None)

    assert found.header() == {}
    assert found.web_service_url is None
    assert found.tls.verify_mode is ssl.CERT_REQUIRED
    assert found.tls.check_hostname


def test_where_to_ask_may_stand_in_the_file(conf: Path) -> None:
    assert access(conf, "webServiceUrl=http://b:8080").web_service_url == "http://b:8080"


# ------------------------------------------------------------------ who asks


@pytest.mark.parametrize("given", [f"token:{SECRET}", SECRET, f'{{"token": "{SECRET}"}}'])
def test_a_token_may_stand_in_the_file(conf: Path, given: str) -> None:
    found = access(conf, TOKEN_PLUGIN, f"authParams={given}")

    assert found.header() == {"Authorization": f"Bearer {SECRET}"}


@pytest.mark.parametrize("head", ["file://", "file:"])
def test_a_token_in_a_file_of_its_own_is_read_again_each_time(conf: Path, head: str) -> None:
    token = conf.with_name("token")
    token.write_text("first\n")
    found = access(conf, TOKEN_PLUGIN, f"authParams={head}{token}")
    assert found.header() == {"Authorization": "Bearer first"}

    token.write_text("renewed\n")
    assert found.header() == {"Authorization": "Bearer renewed"}


def test_a_name_and_a_password_are_told_as_http_has_it(conf: Path) -> None:
    given = f'authParams={{"userId": "me", "password": "{SECRET}"}}'

    header = access(conf, BASIC_PLUGIN, given).header()["Authorization"]

    assert base64.b64decode(header.removeprefix("Basic ")) == f"me:{SECRET}".encode()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([TOKEN_PLUGIN], "expected token:… or file:///…"),
        ([TOKEN_PLUGIN, f"authParams=token:{SECRET}\\u0007x"], "expected token:…"),
        ([TOKEN_PLUGIN, f'authParams={{"tokn": "{SECRET}"}}'], "expected token:…"),
        ([TOKEN_PLUGIN, "authParams=file:///nowhere/token"], "/nowhere/token, expected a file"),
        ([BASIC_PLUGIN, f"authParams=me:{SECRET}"], 'expected {"userId": …, "password": …}'),
        ([TLS_PLUGIN, f"authParams={SECRET}"], "expected tlsCertFile:…,tlsKeyFile:…"),
        ([TLS_PLUGIN, "authParams=tlsCertFile:/no,tlsKeyFile:/where"], "expected a certificate"),
        (["authPlugin=a.b.AuthenticationSasl"], "found AuthenticationSasl, expected one of"),
        (["useKeyStoreTls=true"], "useKeyStoreTls: found true, expected PEM files"),
        (["tlsTrustCertsFilePath=/nowhere"], "found /nowhere, expected a file of certificates"),
    ],
)
def test_what_cannot_be_followed_is_said_without_the_secret(
    conf: Path, lines: list[str], said: str
) -> None:
    with pytest.raises(GatherError) as raised:
        access(conf, *lines)

    assert str(conf) in str(raised.value)
    assert said in str(raised.value)
    assert SECRET not in str(raised.value)


def test_nothing_of_it_is_shown(conf: Path) -> None:
    found = access(conf, TOKEN_PLUGIN, f"authParams=token:{SECRET}")

    assert SECRET not in repr(found) + repr(found.header)


# -------------------------------------------------------------- whom to trust


def server(certificate: str, *, asks: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / certificate)
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(TLS / "ca.pem")
    return context


def answer(broker: fake.Broker, found: Access) -> object:
    limits = Limits(connect_s=5.0, read_s=5.0, whole_s=10.0)
    return Calls(found, limits).json(broker.address + PATH)


def test_a_broker_is_trusted_for_its_authority(conf: Path) -> None:
    with fake.brokers(1, server("broker.pem")) as (broker,):
        assert answer(broker, access(conf, f"tlsTrustCertsFilePath={TLS / 'ca.pem'}"))

        with pytest.raises(CallError, match=r"its certificate is not trusted: .*issuer"):
            answer(broker, read_access(None))


def test_a_certificate_must_be_for_the_host_whatever_the_shipped_file_says(conf: Path) -> None:
    shipped = (f"tlsTrustCertsFilePath={TLS / 'ca.pem'}", "tlsEnableHostnameVerification=false")
    with fake.brokers(1, server("elsewhere.pem")) as (broker,):
        with pytest.raises(CallError, match="IP address mismatch"):
            answer(broker, access(conf, *shipped))

        assert answer(broker, read_access(conf, checks_host=False))


def test_trusting_everybody_takes_saying_so_and_is_warned_of(conf: Path) -> None:
    with fake.brokers(1, server("elsewhere.pem")) as (broker,):
        found = access(conf, "tlsAllowInsecureConnection=true")

        assert answer(broker, found)
        assert "certificates are not checked" in found.warnings[0]


@pytest.mark.parametrize(
    "lines",
    [
        [
            TLS_PLUGIN,
            f"authParams=tlsCertFile:{TLS / 'client.pem'},tlsKeyFile:{TLS / 'client.key'}",
        ],
        [
            f"tlsCertificateFilePath={TLS / 'client.pem'}",
            f"tlsKeyFilePath={TLS / 'client.key'}",
        ],
    ],
    ids=["plugin", "keys"],
)
def test_a_broker_that_asks_for_a_certificate_gets_it(conf: Path, lines: list[str]) -> None:
    trusted = f"tlsTrustCertsFilePath={TLS / 'ca.pem'}"
    with fake.brokers(1, server("broker.pem", asks=True)) as (broker,):
        assert answer(broker, access(conf, trusted, *lines))

        with pytest.raises(CallError):
            answer(broker, access(conf, trusted))
