"""Scopes: no verb shows, names, counts or changes memories of another scope."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from command_line import run
from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.cli import cli
from hedgerow.memory.scope import Scope
from memory_doubles import put

OTTER = "the otter sleeps under the old bridge"
ids = st.none() | st.sampled_from(["ana", "ben", "1"])
scopes = st.builds(Scope, ids, ids, ids)


@pytest.fixture
def both(tmp_path: Path) -> MemoryRoot:
    """A root with memories of Ana, of Ben, who has a secret, and without an owner."""
    put(
        tmp_path,
        "notes/ana.md",
        "---\ntitle: Ana on otters\nscope: {user: ana}\ntags: [otter]\ndate: 2026-01-01\n---\n"
        "Otters swim. [[b]] [[gone]]\n",
    )
    put(
        tmp_path,
        "notes/ana-trip.md",
        "---\nscope: {user: ana, session: trip}\ndate: 2026-01-02\nrelated: '[[ana]]'\n---\n"
        "The trip to the otters.\n",
    )
    put(
        tmp_path,
        "notes/b.md",
        f"---\ntitle: Ben on otters\nscope: {{user: ben}}\ntype: secret\n---\n{OTTER}\n",
    )
    put(tmp_path, "notes/ben-doubt.md", "---\nscope: {user: ben}\nderived_from: ana\n---\nOtter.\n")
    put(tmp_path, "notes/shared.md", "---\ntitle: Shared\n---\nOtters for everybody.\n")
    put(tmp_path, "notes/ben-broken.md", "---\nscope: {user: ben}\n---\notter \0")
    return MemoryRoot.open(tmp_path)


@pytest.fixture
def ana(both: MemoryRoot) -> MemoryRoot:
    return both.scoped(user="ana")


OWN = {"notes/ana.md", "notes/ana-trip.md"}


def unseen(value: object) -> bool:
    """Whether a result contains nothing of Ben's."""
    text = json.dumps(value, default=str).casefold()
    others = ("ben", "under the old", "secret", "shared", "everybody", "notes/b.md")
    return not any(word in text for word in others)


class TestReading:
    def test_recall(self, ana: MemoryRoot) -> None:
        found = ana.recall("otters otter bridge", limit=50)
        assert {one.file for one in found} == OWN
        assert unseen({**found.to_dict(), "root": ""})
        assert not found.left_out

    def test_a_deep_recall_of_what_no_longer_holds(self, both: MemoryRoot) -> None:
        both.retract("b")
        found = both.scoped(user="ana").recall("otters", depth="deep", include_superseded=True)
        assert {one.file for one in found} == OWN
        assert both.scoped(user="ana").recall("bridge").left_out == {}

    def test_list_and_read(self, ana: MemoryRoot) -> None:
        listed = ana.list()
        assert (listed.count, {one.file for one in listed.memories}) == (2, OWN)
        assert ana.show("Ana on otters").file == "notes/ana.md"

    @pytest.mark.parametrize("key", ["b", "notes/b.md", "Ben on otters", "shared", "ben-broken"])
    @pytest.mark.parametrize(
        "verb",
        [
            "show",
            "resolve",
            "validity",
            "retract",
            "restore",
            "link",
            "unlink",
            "visit",
            "supersede",
        ],
    )
    def test_other_names_mean_nothing(self, ana: MemoryRoot, verb: str, key: str) -> None:
        files = {file: file.read_bytes() for file in ana.path.glob("notes/*")}
        calls = {
            "link": lambda: ana.link(key, "ana"),
            "unlink": lambda: ana.unlink("ana", key),
            "visit": lambda: ana.visit("agent", key, 0),
            "supersede": lambda: ana.supersede("ana", by=key),
        }
        with pytest.raises(InvalidInputError) as raised:
            calls.get(verb, lambda: getattr(ana, verb)(key))()
        assert raised.value.code == "unknown_node"
        assert unseen(raised.value.message.replace(key, ""))
        assert files == {file: file.read_bytes() for file in ana.path.glob("notes/*")}

    @pytest.mark.parametrize(
        "pipeline",
        [
            "all",
            "all | limit:1",
            "key:notes/b.md",
            "match:ben,bridge,otter",
            "search:otter",
            "all | rank:bridge",
            "seed:notes/ana.md,notes/b.md",
            "seed:notes/ana.md | spread",
            "seed:notes/ana.md | spectral",
            "neighbors:notes/ana.md",
            "neighbors:notes/b.md",
            "interference-pairs,min_sim=0",
            "all | community:@notes/b.md",
            "all | sort:weight",
            "all | count",
            "all | select:key,type",
        ],
    )
    def test_pipelines(self, ana: MemoryRoot, pipeline: str) -> None:
        found = ana.query(pipeline, explain=True)
        assert set(found.keys) <= OWN
        assert found.count in {None, 0, 1, 2}
        assert all(
            max(stage.candidates, stage.rows_in, stage.rows_out) <= 2 for stage in found.stages
        )
        assert unseen([found.keys, found.rows, found.pairs])
        unknown = ana.query(pipeline.replace("notes/b.md", "notes/nobody.md"))
        warned = [one.replace("notes/nobody.md", "notes/b.md") for one in unknown.warnings]
        assert (unknown.keys, warned) == (found.keys, found.warnings)

    def test_types_of_others_are_unknown(self, both: MemoryRoot, ana: MemoryRoot) -> None:
        messages = []
        for word in ("secret", "nowhere"):
            with pytest.raises(HedgerowError) as raised:
                ana.query(f"all | type:{word}")
            messages.append(raised.value.message.replace(word, "WORD"))
        assert messages[0].splitlines()[0] == messages[1].splitlines()[0]
        assert unseen(messages[0])
        assert both.query("all | type:secret").keys == ["notes/b.md"]

    @pytest.mark.parametrize("query", ["briidge", "bridqe", "sleeeps"])
    def test_words_of_others_are_no_spellings(self, ana: MemoryRoot, query: str) -> None:
        found = ana.recall(query, explain=True)
        assert (list(found), unseen({**found.to_dict(explain=True), "root": ""})) == ([], True)
        assert unseen(ana.why_not(query, "ana").to_dict())

    def test_a_word_of_others_stops_no_spelling(self, both: MemoryRoot, ana: MemoryRoot) -> None:
        put(both.path, "notes/ben-otttr.md", "---\nscope: {user: ben}\n---\notterr\n")
        assert {one.file for one in ana.recall("otterr")} == OWN
        assert ana.query("search:otterr").keys

    def test_links(self, ana: MemoryRoot) -> None:
        graph = ana.graph()
        assert {end for edge in graph.edges for end in edge[:2]} <= OWN
        # Ben's memory is as if it did not exist.
        assert graph.unresolved == (("notes/ana.md", "b"), ("notes/ana.md", "gone"))
        assert graph.skips == ()

    def test_a_name_of_a_memory_outside_leads_to_no_file(self, both: MemoryRoot) -> None:
        both.supersede("ana", by="shared")
        found = both.scoped(user="ana").validity("ana")
        # The name is that of the own front matter.
        assert (found.why, found.by) == ("superseded", ("notes/shared",))
        assert both.validity("ana").by == ("notes/shared.md",)

    def test_lint_and_dedupe(self, both: MemoryRoot, ana: MemoryRoot) -> None:
        put(both.path, "notes/ben-copy.md", f"---\nscope: {{user: ben}}\n---\n{OTTER}\n")
        put(both.path, "notes/ana-copy.md", f"---\nscope: {{user: ana}}\n---\n{OTTER}\n")
        # Copies of different scopes are no copies of each other.
        assert both.process("dedupe").summary[0] == "1 group: 1 with the same text, 0 similar."
        done = ana.process("dedupe", apply=True)
        assert done.groups == ()
        report = ana.process("lint", apply=True)
        text = (both.path / report.files[0]).read_text().replace(str(both.path), "")
        assert "ben" not in text
        assert report.files != both.process("lint", apply=True).files

    def test_a_mark_of_a_memory_outside_does_not_count(self, tmp_path: Path) -> None:
        text = "---\nscope: {user: ana}\n---\nThe otter eats five trout a day.\n"
        put(tmp_path, "notes/first.md", text)
        put(tmp_path, "notes/second.md", text)
        put(tmp_path, "notes/news.md", "---\nsupersedes: second\n---\nThe otter left.\n")
        ana = MemoryRoot.open(tmp_path, scope={"user": "ana"})
        assert MemoryRoot.open(tmp_path).validity("second").why == "superseded"
        assert ana.validity("second").holds
        assert len(ana.recall("otter")) == 2
        [group] = ana.process("dedupe").groups
        assert group.file == "notes/first.md"
        assert ana.audit().counts == {"duplicate": 1}
        page = ana.process("synthesize", topic="otter").summary
        assert page[1:] == ("notes/first.md", "notes/second.md")
        shared = MemoryRoot.open(tmp_path, scope={"user": "ana"}, shared=True)
        assert shared.validity("second").by == ("notes/news.md",)

    @pytest.mark.parametrize("method", ["sync", "index", "store", "agents", "index_state"])
    def test_what_is_about_all_is_refused(self, ana: MemoryRoot, method: str) -> None:
        with pytest.raises(InvalidInputError) as raised:
            getattr(ana, method)()
        assert raised.value.code == "incompatible_options"
        assert "is about the whole root, not about the user ana" in raised.value.message


class TestWriting:
    def test_what_is_remembered_is_of_the_scope(self, both: MemoryRoot, ana: MemoryRoot) -> None:
        done = ana.scoped(session="trip").remember("Herons stand still.", title="Herons")
        assert 'scope: {"user":"ana","session":"trip"}' in both.show(done.file).text
        assert ana.recall("herons").results[0].file == done.file
        assert not both.scoped(user="ben").recall("herons").results

    def test_copies_of_others_do_not_count(self, ana: MemoryRoot) -> None:
        assert ana.remember(OTTER, title="Otter").indexed
        with pytest.raises(HedgerowError, match="has the same text"):
            ana.remember(OTTER, title="Otter")

    def test_what_takes_the_place_of_a_memory_is_of_its_scope(self, ana: MemoryRoot) -> None:
        done = ana.supersede("ana", text="Otters dive.")
        assert done.written is not None
        assert "scope:" in ana.show(done.written).text

    def test_wrapups_and_pages_are_of_the_scope(self, both: MemoryRoot, ana: MemoryRoot) -> None:
        sections = "Findings", "Decisions", "Conflicts / Corrections", "Open Questions"
        text = "\n".join(f"## {name}\n\nNone.\n" for name in sections)
        done = ana.wrapup(text, title="Day", topic="otter")
        assert done.related is not None
        assert {one.file for one in done.related} == OWN
        page = ana.process("synthesize", topic="otters", apply=True)
        of_ben = both.scoped(user="ben").process("synthesize", topic="otter", apply=True)
        assert page.files != of_ben.files
        written = (both.path / page.files[0]).read_text()
        assert unseen(written)
        assert 'scope: {"user":"ana"}' in written
        assert {*OWN, done.file, *page.files} == {one.file for one in ana.list().memories}

    def test_an_edit_stays_in_the_scope(self, both: MemoryRoot, ana: MemoryRoot) -> None:
        memory = ana.show("ana")
        for text in ("No front matter.", memory.text.replace("user: ana", "user: ben")):
            with pytest.raises(InvalidInputError) as raised:
                ana.edit(memory.file, text, memory.digest)
            assert raised.value.message == (
                "the text is not of the user ana; keep `scope` in its front matter as it is"
            )
        assert ana.edit(memory.file, memory.text + "More.\n", memory.digest).text.endswith(
            "More.\n"
        )
        assert both.edit("b", "Of nobody.", both.show("b").digest).file == "notes/b.md"

    def test_nobody_takes_the_place_of_what_is_anothers(self, both: MemoryRoot) -> None:
        put(
            both.path,
            "notes/mine.md",
            "---\nscope: {user: ben}\nsupersedes: ana\n---\nNo otters.\n",
        )
        put(both.path, "notes/ours.md", "---\nscope: {user: ana}\nsupersedes: ana-trip\n---\nA.\n")
        assert both.validity("notes/ana.md").holds
        assert not both.validity("notes/ana-trip.md").holds

    def test_a_file_of_another_user_takes_no_mark(self, tmp_path: Path) -> None:
        put(tmp_path, "zz/old.md", "---\nscope: {user: ana}\n---\nOtters eat trout.\n")
        put(tmp_path, "zz/new.md", "---\nscope: {user: ana}\nsupersedes: '[[old]]'\n---\nEel.\n")
        root = MemoryRoot.open(tmp_path)
        for path in ("aa/old.md", "old.md", "zz/sub/old.md"):
            put(tmp_path, path, "---\nscope: {user: ben}\ntitle: old\n---\nMine.\n")
            for view in (root, root.scoped(user="ana")):
                assert view.validity("zz/old.md").by == ("zz/new.md",)
            assert root.validity(path).holds

    def test_a_page_is_not_written_into_a_file_of_another_user(self, both: MemoryRoot) -> None:
        ana = both.scoped(user="ana")
        [page] = ana.process("synthesize", topic="otters").files
        text = "---\nscope: {user: ben}\ntype: page\n---\n# Mine\n"
        put(both.path, page, text)
        for apply in (False, True):
            with pytest.raises(HedgerowError) as raised:
                ana.process("synthesize", topic="otters", apply=apply)
            assert raised.value.message == f"there is a file {page} already; choose another topic"
        assert (both.path / page).read_text() == text

    def test_forgetting_leaves_pages_of_others(self, both: MemoryRoot) -> None:
        text = (
            "---\nscope: {user: ben}\ntype: page\n---\n# Otters\n\n<!-- hedgerow:begin -->\n"
            "- from `notes/ana.md`\n<!-- hedgerow:end -->\n"
        )
        put(both.path, "pages/ben.md", text)
        done = both.scoped(user="ana").forget("ana", purge=True)
        assert (done.rewritten, done.quoted_by) == ((), ())
        assert (both.path / "pages/ben.md").read_text() == text

    def test_visits_are_noted(self, ana: MemoryRoot) -> None:
        ana.visit("agent", "ana", 1_800_000_000)
        assert ana.query("all | visited:agent").keys == ["notes/ana.md"]


class TestScope:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"team": "a"}, "a scope has user, agent, session, not 'team'"),
            ({"user": " "}, "the user of a scope must be 1 to 200 characters, not blank"),
            ({"user": "a" * 201}, "the user of a scope must be 1 to 200 characters, not blank"),
            ("ana", """scope must be a mapping such as {"user": "ana"}, not 'ana'"""),
        ],
    )
    def test_what_is_no_scope_is_refused(self, tmp_path: Path, given: object, message: str) -> None:
        with pytest.raises(InvalidInputError) as raised:
            MemoryRoot.open(tmp_path, scope=given)  # type: ignore[arg-type]
        assert raised.value.message == message

    def test_a_scope_is_only_narrowed(self, ana: MemoryRoot) -> None:
        assert ana.scoped(session="trip").scope == {"user": "ana", "session": "trip"}
        with pytest.raises(InvalidInputError, match="the root is that of the user 'ana' already"):
            ana.scoped(user="ben")

    @pytest.mark.parametrize("stated", ["user: 42", 'user: "42"'])
    def test_numbers_are_ids(self, tmp_path: Path, stated: str) -> None:
        put(tmp_path, "notes/a.md", f"---\nscope: {{{stated}}}\n---\notter\n")
        root = MemoryRoot.open(tmp_path, scope={"user": "42"})
        assert root.list().count == 1
        assert root.recall("otter").results[0].file == "notes/a.md"

    @pytest.mark.parametrize("digits", [18, 19, 20, 200])
    def test_long_numbers_are_ids_too(self, tmp_path: Path, digits: int) -> None:
        put(tmp_path, "notes/a.md", f'---\nscope: {{user: "{"9" * digits}"}}\n---\notter\n')
        root = MemoryRoot.open(tmp_path, scope={"user": "9" * digits})
        assert len(root.recall("otter")) == 1

    @pytest.mark.parametrize(
        "stated", ["ana", "[{user: ana}]", "{user: [ana]}", "{user: {user: ana}}", "{user: true}"]
    )
    def test_what_is_not_understood_belongs_to_nobody(self, tmp_path: Path, stated: str) -> None:
        put(tmp_path, "notes/a.md", f"---\nscope: {stated}\n---\notter\n")
        root = MemoryRoot.open(tmp_path)
        root.sync()
        for user in ("ana", "true"):
            view = root.scoped(user=user)
            assert (len(view.recall("otter")), view.list().count) == (0, 0)

    @given(scopes, scopes, scopes)
    def test_scopes_are_ordered(self, one: Scope, other: Scope, third: Scope) -> None:
        assert Scope().has(one)
        assert one.has(one)
        assert not (one.has(other) and other.has(one)) or one == other
        assert not (one.has(other) and other.has(third)) or one.has(third)
        assert (one.suffix == other.suffix) == (one == other)


class TestCommands:
    def run(self, root: MemoryRoot, *args: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli, [*args, "--root", str(root.path)])
        assert done.exit_code == code, done.output
        return done.output.replace(str(root.path), "")

    def test_they_see_the_scope_alone(self, both: MemoryRoot) -> None:
        scope = ("--scope", "user=ana")
        for args in (
            ["recall", "otter bridge"],
            ["recall", "otter bridge", "--explain"],
            ["recall", "otter", "--json"],
            ["search", "otter bridge"],
            ["list"],
            ["show", "ana-trip"],
            ["query", "all"],
            ["query", "all", "--json", "--explain"],
            ["graph", "ana-trip"],
            ["process", "--mode", "dedupe", "--apply"],
            ["retract", "ana-trip"],
            ["remember", "Kingfishers dive.", "--json"],
            ["link", "ana", "ana-trip", "--json"],
            ["visit", "agent", "ana"],
            ["supersede", "ana-trip", "--by", "ana"],
            ["restore", "ana-trip"],
            ["rename", "ana-trip", "journey"],
            ["recall", "otters", "--budget", "500"],
            ["process", "--mode", "synthesize", "--topic", "otters", "--apply", "--json"],
            ["forget", "journey", "--purge", "--json"],
        ):
            output = self.run(both, *args, *scope)
            assert unseen(output), output
        assert both.recall("kingfishers").results[0].metadata["scope"] == {"user": "ana"}

    @pytest.mark.parametrize(
        "args",
        [
            ["show", "b"],
            ["edit", "b", "text", "--expect", "0"],
            ["retract", "b"],
            ["restore", "b"],
            ["rename", "b", "c"],
            ["forget", "b", "--purge"],
            ["supersede", "b", "text"],
            ["supersede", "ana", "--by", "b"],
            ["link", "ana", "b"],
            ["link", "b", "ana", "--remove"],
            ["visit", "agent", "b"],
            ["graph", "b"],
        ],
    )
    def test_other_memories_are_not_there(self, both: MemoryRoot, args: list[str]) -> None:
        files = {file: file.read_bytes() for file in both.path.glob("notes/*")}
        output = self.run(both, *args, "--scope", "user=ana", code=1)
        assert "there is no memory 'b' in this root" in output
        assert files == {file: file.read_bytes() for file in both.path.glob("notes/*")}

    def test_what_has_no_scope_says_so(self, both: MemoryRoot) -> None:
        scope = ("--scope", "user=ana")
        assert "--scope goes with a KEY, without --svg." in self.run(both, "graph", *scope, code=2)
        assert "--scope is KEY=ID" in self.run(both, "list", "--scope", "ana", code=2)
        twice = ("--scope", "user=ana", "--scope", "user=ben")
        assert "a user, an agent or a session once" in self.run(both, "list", *twice, code=2)
        assert "a scope has user, agent, session" in self.run(
            both, "list", "--scope", "team=a", code=2
        )

    def test_a_report_shows_the_links_of_the_scope(self, both: MemoryRoot, tmp_path: Path) -> None:
        report = tmp_path / "report.html"
        both.link("ana", "b")
        self.run(both, "recall", "otters", "--scope", "user=ana", "--report", str(report))
        assert "b.md" not in report.read_text()


class TestShared:
    """Memories without a scope are visible from every scope, and never written from one."""

    @pytest.fixture
    def shared(self, tmp_path: Path) -> MemoryRoot:
        root = MemoryRoot.open(tmp_path)
        put(tmp_path, "notes/all.md", "The otter belongs to everybody.\n")
        put(tmp_path, "notes/ana.md", "---\nscope: {user: ana}\n---\nThe otter of Ana.\n")
        put(tmp_path, "notes/ben.md", "---\nscope: {user: ben}\n---\nThe otter of Ben.\n")
        root.sync()
        return MemoryRoot.open(tmp_path, scope={"user": "ana"}, shared=True)

    def test_it_is_off_by_default(self, shared: MemoryRoot) -> None:
        alone = MemoryRoot.open(shared.path, scope={"user": "ana"})
        assert [one.file for one in alone.recall("otter")] == ["notes/ana.md"]

    def test_shared_memories_are_seen(self, shared: MemoryRoot) -> None:
        assert {one.file for one in shared.recall("otter")} == {"notes/all.md", "notes/ana.md"}
        assert {one.file for one in shared.list().memories} == {"notes/all.md", "notes/ana.md"}
        assert shared.show("all").file == "notes/all.md"
        assert "everybody" in str(shared.context("otter"))
        found = shared.query('search:"otter" | select:key').rows or []
        assert sorted(key for (key,) in found) == ["notes/all.md", "notes/ana.md"]

    def test_they_are_not_written(self, shared: MemoryRoot) -> None:
        before = (shared.path / "notes/all.md").read_bytes()
        memory = shared.show("all")
        for call in (
            lambda: shared.retract("all"),
            lambda: shared.supersede("all", text="The otter is mine."),
            lambda: shared.edit(memory.file, "The otter is mine.", memory.digest),
            lambda: shared.rename("all", "mine"),
            lambda: shared.forget("all", purge=True),
            lambda: shared.link("all", "ana"),
        ):
            with pytest.raises(InvalidInputError) as raised:
                call()
            assert raised.value.code == "unknown_node"
        shared.process("dedupe", apply=True)
        assert (shared.path / "notes/all.md").read_bytes() == before

    def test_what_is_written_has_the_scope(self, shared: MemoryRoot) -> None:
        file = shared.remember("The otter belongs to everybody.", title="Otter").file
        assert 'scope: {"user":"ana"}' in (shared.path / file).read_text()
        assert shared.link(file, "all").a == file

    def test_a_narrower_view_does_not_widen(self, shared: MemoryRoot) -> None:
        narrower = shared.scoped(session="trip", shared=True)
        assert [one.file for one in narrower.recall("otter")] == ["notes/all.md"]
        assert list(shared.scoped(session="trip").recall("otter")) == []
        alone = MemoryRoot.open(shared.path, scope={"user": "ana"})
        with pytest.raises(InvalidInputError, match="without shared memories"):
            alone.scoped(session="trip", shared=True)
        with pytest.raises(InvalidInputError, match="shared goes with a scope"):
            MemoryRoot.open(shared.path, shared=True)

    def test_the_command(self, shared: MemoryRoot) -> None:
        root = ["--root", str(shared.path), "--scope", "user=ana"]
        assert "notes/all.md" not in run("recall", "otter", *root).stdout
        assert "notes/all.md" in run("recall", "otter", *root, "--shared").stdout
        assert run("recall", "otter", "--root", str(shared.path), "--shared").exit_code == 2


@pytest.mark.parametrize(
    "scope",
    [
        'scope: {"user": "ana"}\ntitle: Alarm: front door',
        "scope: ana",
        "scope: {User: ana}",
        "scope: {user: [ana]}",
        "scope:\n  user: ana\n  bad: [\ntitle: Alarm",
        "scope: {user: ana",
    ],
)
def test_a_scope_that_cannot_be_read_is_not_shared(tmp_path: Path, scope: str) -> None:
    put(tmp_path, "notes/alarm.md", f"---\n{scope}\n---\nThe alarm code is 4711.\n")
    root = MemoryRoot.open(tmp_path)
    ben = root.scoped(user="ben", shared=True)
    assert len(root.recall("alarm code")) == 1
    assert len(ben.recall("alarm code")) == 0
    assert ben.list().count == 0
    assert ben.query("search:alarm").keys == []
    [problem] = [one for one in root.sync().skips if one.code == "bad_front_matter"][:1]
    assert problem.path == "notes/alarm.md"
    assert root.scoped(user="ana").list().count == scope.startswith('scope: {"user": "ana"}')


def test_a_scope_in_front_matter_without_an_end_is_not_shared(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\ntitle: Alarm\nscope: {user: ana}\n\nThe alarm code is 4711.\n")
    root = MemoryRoot.open(tmp_path)
    assert len(root.recall("alarm code")) == 1
    assert len(root.scoped(user="ben", shared=True).recall("alarm code")) == 0


def test_a_shared_memory_is_named_as_such(both: MemoryRoot) -> None:
    ana = both.scoped(user="ana", shared=True)
    for change in (
        ana.retract,
        lambda key: ana.supersede(key, text="x"),
        lambda key: ana.forget(key, purge=True),
    ):
        with pytest.raises(InvalidInputError, match="is shared cannot be changed from the scope"):
            change("Shared")
    with pytest.raises(InvalidInputError, match="there is no memory 'Ben on otters'"):
        ana.retract("Ben on otters")
