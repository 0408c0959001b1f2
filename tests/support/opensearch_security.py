"""Users and certificates for a server with the security plugin."""

from __future__ import annotations

import base64
import shutil
import ssl
import subprocess
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

from opensearch_server import class_path

USER = "admin"


class Users:
    """One user with a password, and a certificate authority that only configured clients trust."""

    plugin = "org.opensearch.security.OpenSearchSecurityPlugin"

    def __init__(self, folder: Path, password: str) -> None:
        self.password = password
        self.authority = trustme.CA()
        self.ca = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(self.ca)
        self.context = ssl.create_default_context(cafile=self.ca)
        pair = base64.b64encode(f"{USER}:{password}".encode()).decode()
        self.header = f"Basic {pair}"

    def settings(self) -> list[str]:
        layers = ("transport", "http")
        files = {"pemcert": "node.pem", "pemkey": "node.key", "pemtrustedcas": "ca.pem"}
        return [
            "plugins.security.ssl.http.enabled: true",
            "plugins.security.ssl.transport.enforce_hostname_verification: false",
            "plugins.security.allow_default_init_securityindex: true",
            "plugins.security.allow_unsafe_democertificates: true",
            *(
                f"plugins.security.ssl.{layer}.{kind}_filepath: {file}"
                for layer in layers
                for kind, file in files.items()
            ),
            'plugins.security.nodes_dn: ["*"]',
        ]

    def write(self, config: Path, found: Path) -> None:
        issued = self.authority.issue_cert("127.0.0.1", "localhost")
        (config / "node.pem").write_bytes(b"".join(p.bytes() for p in issued.cert_chain_pems))
        (config / "ca.pem").write_bytes(self.authority.cert_pem.bytes())
        key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        # Java reads no other format.
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
        (config / "node.key").write_bytes(key.private_bytes(*form, serialization.NoEncryption()))
        [plugin] = found.glob("opensearch-security-*")
        folder = config / "opensearch-security"
        shutil.copytree(plugin / "config", folder)
        (folder / "internal_users.yml").write_text(
            '_meta:\n  type: "internalusers"\n  config_version: 2\n'
            f'{USER}:\n  hash: "{self._hash(found)}"\n  backend_roles: ["admin"]\n'
        )

    def _hash(self, found: Path) -> str:
        tool = "org.opensearch.security.tools.Hasher"
        command = ["java", "-cp", class_path(found), tool, "-p", self.password]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return output.strip().splitlines()[-1]
