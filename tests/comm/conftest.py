"""What tests of several backends share."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from pycobre.comm.tcp.config import TlsFiles


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TlsFiles]:
    """What ranks show each other over TLS, signed by the authority of ``ours`` or of ``theirs``."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command makes the certificates; install it")
    place = tmp_path_factory.mktemp("tls")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=place, check=True, capture_output=True, timeout=30)

    def make(name: str) -> TlsFiles:
        authority = ("-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-subj", f"/CN={name}")
        openssl("req", "-x509", *new, *authority, "-days", "2")
        openssl("req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=rank")
        signed = ("-CA", f"{name}-ca.pem", "-CAkey", f"{name}-ca.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")
        return TlsFiles(place / f"{name}.pem", place / f"{name}.key", place / f"{name}-ca.pem")

    return {name: make(name) for name in ("ours", "theirs")}
