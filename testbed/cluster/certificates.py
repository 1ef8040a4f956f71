"""Brokers that speak TLS, too: one certificate for all of them, made anew and signed by itself."""

from __future__ import annotations

import shutil
import subprocess

from cluster.java import BUILD, ClusterError
from cluster.state import NUMBER, host

FOLDER = BUILD / (f"tls{NUMBER}" if NUMBER > 1 else "tls")
#: Whom to trust: the certificate itself.
TRUSTED = FOLDER / "broker.pem"
PORT = 8443
_KEY = FOLDER / "broker.key"
_BROKERS = range(1, 10)


def settings() -> dict[str, str]:
    """Return the keys of broker.conf with which admin APIs are served at `PORT` besides.

    Raises:
        ClusterError: there is no openssl, or it makes no certificate.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ClusterError("no openssl on PATH: install it, it makes the brokers' certificate")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, mode=0o700)
    names = ",".join(f"IP:{host(number)}" for number in _BROKERS)
    make = (
        *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
        *("-subj", "/CN=loopback", "-addext", f"subjectAltName={names}"),
        *("-keyout", str(_KEY), "-out", str(TRUSTED)),
    )
    done = subprocess.run(make, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterError(f"openssl makes no certificate:\n{done.stderr}")
    return {
        "webServicePortTls": str(PORT),
        "tlsCertificateFilePath": str(TRUSTED),
        "tlsKeyFilePath": str(_KEY),
        "tlsTrustCertsFilePath": str(TRUSTED),
    }


def web_tls(number: int) -> str:
    """Return the address of a broker's admin API by TLS."""
    return f"https://{host(number)}:{PORT}"
