"""A real OpenSearch server from jars that Maven downloads, for tests/cluster and benches."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol
from urllib.error import URLError
from urllib.request import Request, urlopen

from places import ROOT

POM = ROOT / "tests" / "cluster" / "pom.xml"
SECURE_POM = ROOT / "tests" / "cluster" / "secure" / "pom.xml"
CACHE = ROOT / "target" / "cluster"
LONGEST_START = 300.0
"""The timeout for the start of a node, in seconds: far more than a busy machine needs."""

_HEAP = "512m"
_KNN = "org.opensearch.knn.plugin.KNNPlugin"
_MODULES = ",".join(
    (
        "org.opensearch.painless.PainlessPlugin",
        "org.opensearch.index.mapper.MapperExtrasPlugin",
        "org.opensearch.index.reindex.ReindexPlugin",
        "org.opensearch.transport.Netty4Plugin",
    )
)
_PUBLISHED = re.compile(r"HttpServerTransport.*publish_address \{[^}]*:(\d+)\}")
# On systems with setpriv, the server is killed together with pytest.
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


def missing_tools() -> list[str]:
    """Return the programs that a server needs and that are not installed."""
    return [tool for tool in ("java", "mvn") if shutil.which(tool) is None]


def jars(pom: Path = POM) -> Path:
    """Return the folder with the server's jars. The first call for this pom.xml downloads them."""
    folder = CACHE / f"jars-{hashlib.sha256(pom.read_bytes()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        fetched = Path(scratch) / "jars"
        subprocess.run(
            [
                *("mvn", "--batch-mode", "--quiet", "--file", str(pom)),
                *("dependency:copy-dependencies", f"-DoutputDirectory={fetched}"),
            ],
            check=True,
        )
        for plugin in fetched.glob("*.zip"):
            with zipfile.ZipFile(plugin) as archive:
                archive.extractall(fetched / plugin.stem)
            plugin.unlink()
        # The rename is atomic, so an existing folder is complete.
        fetched.rename(folder)
    return folder


class Security(Protocol):
    """The users and the certificate of a server."""

    plugin: str
    header: str
    context: ssl.SSLContext

    def settings(self) -> list[str]:
        """Return lines of opensearch.yml."""

    def write(self, config: Path, found: Path) -> None:
        """Write the files next to opensearch.yml. `found` has the jars."""


class Node:
    """A process of a server. `url` is its address."""

    def __init__(
        self,
        folder: Path,
        cluster: str,
        settings: Sequence[str],
        security: Security | None = None,
        heap: str = _HEAP,
    ) -> None:
        config = folder / "node_1" / "config"
        config.mkdir(parents=True, exist_ok=True)
        (config / "opensearch.yml").write_text("\n".join(settings) + "\n")
        self.log = folder / "log"
        self._cluster = cluster
        self._security = security
        found = jars(POM if security is None else SECURE_POM)
        if security is not None:
            security.write(config, found)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *_DIES_WITH_US,
                    *("java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC"),
                    *("-cp", class_path(found)),
                    *("org.codelibs.opensearch.runner.OpenSearchRunner", "-numOfNode", "1"),
                    *("-basePath", str(folder), "-clusterName", cluster),
                    *("-baseHttpPort", str(_free_http_port() - 1)),
                    *("-moduleTypes", _MODULES, "-pluginTypes"),
                    ",".join([_KNN] if security is None else [_KNN, security.plugin]),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C goes only to pytest, which stops the servers itself.
                start_new_session=True,
            )
        self.url = ""

    def wait(self, nodes: int = 1) -> None:
        """Wait until the node responds, sees `nodes` nodes, and has no unassigned shard."""
        end = time.monotonic() + LONGEST_START
        while not self._is_ready(nodes):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"OpenSearch did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.2)

    def kill(self) -> None:
        """Kill the process, like a crash."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Suspend the process: it keeps its connections and sends nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def cpu_seconds(self) -> float:
        """Return the processor time of the process so far, in seconds (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _is_ready(self, nodes: int) -> bool:
        if not self.url:
            found = _PUBLISHED.search(self.log.read_text(errors="replace"))
            if found is None:
                return False
            self.url = f"{'https' if self._security else 'http'}://127.0.0.1:{found[1]}"
        request = Request(f"{self.url}/_cluster/health?timeout=1s")  # noqa: S310 - our own server
        context = None
        if self._security is not None:
            context = self._security.context
            request.add_header("Authorization", self._security.header)
        try:
            with urlopen(request, timeout=5, context=context) as answer:  # noqa: S310
                health = json.load(answer)
        except (URLError, TimeoutError, ConnectionError, ValueError):
            return False
        return bool(
            health["cluster_name"] == self._cluster
            and health["number_of_nodes"] == nodes
            and health["status"] == "green"
        )


@contextmanager
def cluster(
    nodes: int = 1, security: Security | None = None, heap: str = _HEAP
) -> Iterator[list[Node]]:
    """Start an empty server with `nodes` processes, and stop it at the end of the block."""
    name = f"hedgerow-{uuid.uuid4().hex[:12]}"
    ports = [_free_port() for _ in range(nodes)]
    addresses = [f"127.0.0.1:{port}" for port in ports]
    with ExitStack() as stack:
        started: list[Node] = []
        for port in ports:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            settings = [
                "network.host: 127.0.0.1",
                f"transport.port: {port}",
                f"discovery.seed_hosts: {json.dumps(addresses)}",
                f"cluster.initial_cluster_manager_nodes: {json.dumps(addresses[:1])}",
                "cluster.routing.allocation.disk.threshold_enabled: false",
                # Every test compiles scripts for its searches.
                "script.disable_max_compilations_rate: true",
                *(security.settings() if security else []),
            ]
            node = Node(Path(folder), name, settings, security, heap)
            stack.callback(node.kill)
            started.append(node)
            node.wait(len(started))
        yield started


def class_path(found: Path) -> str:
    """Return the class path: the jars of the folder and of the plugins' folders."""
    folders = [folder for folder in sorted(found.iterdir()) if folder.is_dir()]
    return os.pathsep.join(f"{folder}/*" for folder in [found, *folders])


def _free_http_port() -> int:
    """Return a free HTTP port. The runner tries ports from the given one up to 9299."""
    for port in range(9211, 9299):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError("no port from 9211 to 9298 is free; end the servers that have them")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
