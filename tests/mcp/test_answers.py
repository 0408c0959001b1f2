"""The results of the tools of `hedgerow mcp`: compact Markdown without repetition."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from hedgerow import MemoryRoot
from hedgerow._json.markdown import tokens_of
from local_server import LocalServer
from mcp_tools import answer, ask, refusal, text_of
from memory_doubles import WRAPUP, put

LONG = "---\ntitle: Long\n---\n" + "zebra grass " * 2_000


class TestRecall:
    def test_a_hit_is_its_text_with_file_lines_and_date(self, slugs_root: Path) -> None:
        found = answer(slugs_root, "memory_recall", query="slugs")
        assert found == "[1] decisions/a.md:4-6 (2026-04-18)\n# Slugs No pellets: beer."
        assert answer(slugs_root, "memory_recall", query="zebra") == "Nothing found."

    def test_a_hit_costs_little_more_than_its_text(self, slugs_root: Path) -> None:
        for number in range(9):
            put(slugs_root, f"notes/2026-04-0{number + 1}-pond.md", f"The pond has {number} newts.")
        found = answer(slugs_root, "memory_recall", query="pond newts")
        texts = re.findall(r"The pond has \d newts\.", found)
        assert len(texts) == 5
        assert (len(found) - sum(map(len, texts))) / len(texts) <= 80

    def test_what_does_not_hold_is_counted_or_marked(self, slugs_root: Path) -> None:
        answer(slugs_root, "memory_retract", key="Slugs", reason="cruel")
        found = answer(slugs_root, "memory_recall", query="slugs")
        assert found == "Nothing found.\n\nLeft out: 1 retracted."
        found = answer(slugs_root, "memory_recall", query="slugs", include_superseded=True)
        assert re.match(
            r"\[1\] decisions/a\.md:\d+-\d+ \(2026-04-18; retracted since [-\d]+: cruel\)\n", found
        )
        found = answer(slugs_root, "memory_recall", query="slugs", as_of="2020-01-01")
        assert found == "Nothing found.\n\nLeft out: 1 not valid yet."

    @pytest.mark.parametrize("budget", [None, 60])
    def test_what_the_folder_is_about_comes_first(
        self, slugs_root: Path, budget: int | None
    ) -> None:
        put(slugs_root, "decisions/_about.md", "Ours, by vote.")
        found = answer(slugs_root, "memory_recall", query="slugs", budget=budget)
        assert found.startswith(
            "[about] decisions/_about.md\nOurs, by vote.\n\n[1] decisions/a.md:4"
        )
        assert budget is None or tokens_of(found) <= budget

    @pytest.mark.parametrize("budget", [None, 200])
    def test_a_period_ranks_and_says_nothing(self, slugs_root: Path, budget: int | None) -> None:
        day = datetime.now().astimezone().date()
        put(slugs_root, "notes/day.md", f"---\ndate: {day}\n---\nThe weather, and slugs.\n")
        found = answer(slugs_root, "memory_recall", query="slugs", budget=budget)
        assert not found.startswith("[1] notes/day.md")
        found = answer(slugs_root, "memory_recall", query="slugs hoje", budget=budget)
        assert found.startswith("[1] notes/day.md")
        assert "hoje" not in found

    def test_files_that_cannot_be_read_are_named_in_the_last_line(self, slugs_root: Path) -> None:
        for number in range(5):
            (slugs_root / f"notes/bad{number}.md").write_bytes(b"\xff\xfe\x00")
        last = answer(slugs_root, "memory_recall", query="slugs").splitlines()[-1]
        assert last.startswith("Not readable: notes/bad0.md (")
        assert last.endswith(" and 2 more.")

    def test_what_the_root_may_not_do_is_named_once(
        self, slugs_root: Path, server: LocalServer
    ) -> None:
        config = {"schemaVersion": 1, "indexRoot": "..", "embedder": f"openai:m@{server.url}/v1"}
        put(slugs_root, "hedgerow.json", json.dumps(config))
        found = answer(slugs_root, "memory_recall", query="slugs")
        assert found.splitlines()[-1] == (
            "Parts of the configuration are not allowed: see hedgerow://status."
        )
        instructions: str = ask(slugs_root, instructions_of)
        assert instructions.count("Not allowed: ") == 2
        assert "hedgerow trust --root" in instructions
        assert server.requests == []


class TestBudgets:
    @pytest.mark.parametrize("budget", [40, 55, 100, 400, 3_000])
    def test_a_budget_counts_the_whole_answer(self, slugs_root: Path, budget: int) -> None:
        put(slugs_root, "notes/long.md", LONG)
        put(slugs_root, "notes/old.md", "---\nretracted: 2026-01-01\n---\nzebra")
        (slugs_root / "notes/bad.md").write_bytes(b"\xff\xfe\x00")
        for query in ("zebra", "zebra yesterday", "slugs", "zebra slugs beer"):
            found = answer(slugs_root, "memory_recall", query=query, budget=budget)
            assert tokens_of(found) <= budget
            assert budget < 100 or "Not readable: notes/bad.md" in found

    def test_a_paragraph_larger_than_the_budget_is_cut(self, slugs_root: Path) -> None:
        put(slugs_root, "notes/long.md", LONG)
        found = answer(slugs_root, "memory_recall", query="zebra", budget=300)
        assert found.startswith("[1] notes/long.md:4\nzebra grass zebra grass")
        assert found.endswith("…\n\nLeft out: 3 did not fit the budget.")
        assert tokens_of(found) > 250

    def test_a_budget_gets_whole_passages_with_their_structure(self, slugs_root: Path) -> None:
        found = answer(slugs_root, "memory_recall", query="slugs", budget=100)
        assert found == "[1] decisions/a.md:4-6 (2026-04-18)\n# Slugs\n\nNo pellets: beer."

    def test_a_limit_counts_files(self, slugs_root: Path) -> None:
        for number in range(4):
            put(slugs_root, f"notes/s{number}.md", f"# S{number}\n\nSlugs number {number}.\n")
        found = answer(slugs_root, "memory_recall", query="slugs", budget=1_000, limit=2)
        assert found.count("\n[") == 1
        found = answer(slugs_root, "memory_recall", query="slugs", budget=1_000)
        assert found.count("\n[") == 4


class TestReading:
    def test_the_first_line_has_the_digest(self, slugs_root: Path) -> None:
        head, _, text = answer(slugs_root, "memory_read", key="Slugs").partition("\n\n")
        with MemoryRoot.open(slugs_root) as root:
            memory = root.show("Slugs")
        assert head == f"decisions/a.md · digest {memory.digest[:12]}"
        assert text == memory.text

    def test_a_part_says_where_it_goes_on(self, slugs_root: Path) -> None:
        read = answer(slugs_root, "memory_read", key="a", offset=1, limit=2)
        assert read.endswith(" · lines 2-3 · 3 more: offset 3\n\ndate: 2026-04-18\n---\n")
        read = answer(slugs_root, "memory_read", key="a", section="slugs", limit=1)
        assert read.endswith(" · lines 4-4 · 2 more: offset 1\n\n# Slugs\n")
        read = answer(slugs_root, "memory_read", key="a", offset=6)
        assert read.endswith(" · no lines\n\n")

    @pytest.mark.parametrize("options", [{}, {"section": "Log"}, {"limit": 500}])
    def test_a_long_memory_is_read_page_by_page(
        self, slugs_root: Path, options: dict[str, Any]
    ) -> None:
        text = "# Log\n" + "".join(f"- line {n} of \u2028 a log\n" for n in range(3_000))
        put(slugs_root, "notes/log.md", text)
        pages, offset = [], "0"
        while True:
            page = answer(slugs_root, "memory_read", key="log", offset=int(offset), **options)
            head, _, part = page.partition("\n\n")
            assert len(part) <= 20_000
            pages.append(part)
            more = re.search(r" more: offset (\d+)$", head)
            if more is None:
                break
            offset = more[1]
        assert "".join(pages) == text
        assert len(pages) > 3

    def test_a_line_longer_than_a_page_is_cut(self, slugs_root: Path) -> None:
        put(slugs_root, "notes/long.md", LONG)
        read = answer(slugs_root, "memory_read", key="long", offset=3)
        assert len(read) < 20_200
        assert read.endswith("…")
        assert " · lines 4-4\n\n" in read


class TestList:
    def test_a_line_has_what_the_name_does_not_say(self, slugs_root: Path) -> None:
        put(slugs_root, "notes/2026-04-20-hedge-plan.md", "# Hedge plan\n")
        put(slugs_root, "notes/b.md", "---\ntitle: Beds\ndate: 2026-04-19\ntype: page\n---\nx")
        assert answer(slugs_root, "memory_list").splitlines() == [
            "3 memories",
            "- notes/2026-04-20-hedge-plan.md",
            "- notes/b.md · Beds · page · 2026-04-19",
            "- decisions/a.md · Slugs · 2026-04-18",
        ]
        answer(slugs_root, "memory_retract", key="Beds")
        assert " · retracted since " in answer(slugs_root, "memory_list", type="page")

    def test_pages(self, slugs_root: Path) -> None:
        for number in range(5):
            put(slugs_root, f"notes/n{number}.md", f"---\ndate: 2026-01-0{number + 1}\n---\nx")
        first = answer(slugs_root, "memory_list", limit=4)
        assert first.startswith("6 memories, 1-4 shown; more: offset 4\n")
        assert len(answer(slugs_root, "memory_list", limit=4, offset=4).splitlines()) == 3
        assert answer(slugs_root, "memory_list", superseded=True) == "0 memories"


class TestAudit:
    def test_a_finding_names_the_tool_or_the_command_that_mends_it(self, tmp_path: Path) -> None:
        assert answer(tmp_path, "memory_audit") == "0 memories: nothing to mend."
        put(tmp_path, "notes/2026-01-01-key.md", "The key is AKIAIOSFODNN7EXAMPLQ here.\n")
        put(tmp_path, "notes/2026-01-02-empty.md", "# Empty\n")
        for day in (3, 4):
            put(
                tmp_path, f"notes/2026-01-0{day}.md", "Beer traps caught fifty slugs in one week.\n"
            )
        told = answer(tmp_path, "memory_audit").split("\n")
        assert told[0] == "4 memories: 1 secret, 1 empty, 1 duplicate."
        assert told[1].startswith("- secret: notes/2026-01-01-key.md:1 looks like it has a secret")
        assert told[1].endswith("(memory_edit)")
        assert "AKIAIOSFODNN7EXAMPLQ" not in "".join(told)
        assert told[2].endswith("has no text (the user may delete it for good)")
        assert told[3] == (
            "- duplicate: notes/2026-01-04.md has the same text as notes/2026-01-03.md (memory_supersede)"
        )

    def test_many_findings_are_counted(self, tmp_path: Path) -> None:
        for number in range(45):
            put(tmp_path, f"notes/{number:02}.md", "# Empty\n")
        told = answer(tmp_path, "memory_audit").split("\n")
        assert (told[0], len(told)) == ("45 memories: 45 empty.", 42)
        assert told[-1] == "5 more: ask again after mending these."


class TestWriting:
    def test_a_new_memory_is_named(self, slugs_root: Path) -> None:
        wrote = answer(slugs_root, "memory_remember", title="Moles", text="Leave the moles be.")
        file = re.fullmatch(r"Wrote (notes/\d{4}-\d\d-\d\d-moles\.md)\.", wrote)
        assert file is not None
        refused = refusal(slugs_root, "memory_remember", title="M", text="Leave the moles be.")
        assert f"{file[1]} has the same text" in refused
        assert refused.endswith('; to replace that memory: on_duplicate="supersede"')
        alike = answer(slugs_root, "memory_remember", title="M", text="Leave the moles be now.")
        assert re.fullmatch(
            rf"Wrote (\S+)\. Similar: {file[1]} \(66 %\)\. If it replaces one, call memory_supersede with that as "
            r"`old` and \1 as `by`\.",
            alike,
        )
        instead = answer(
            slugs_root, "memory_remember", title="M", text="Leave the moles be.",
            on_duplicate="supersede",
        )  # fmt: skip
        assert f"-1.md, in place of {file[1]}. Similar: " in instead

    def test_a_memory_that_no_recall_finds_is_reported(self, slugs_root: Path) -> None:
        put(slugs_root, "hedgerow.json", '{"schemaVersion": 1, "indexRoot": "decisions"}')
        wrote = answer(slugs_root, "memory_remember", title="Moles", text="Leave them.")
        assert ".md. Not indexed: it lies outside indexRoot" in wrote

    def test_what_is_no_longer_so_is_superseded_and_restored(self, slugs_root: Path) -> None:
        done = answer(slugs_root, "memory_supersede", old="Slugs", text="Copper.", title="Rings")
        new = re.search(r"^Wrote (\w+/[-\d]+-rings\.md)\. ", done)
        assert new is not None
        assert f"decisions/a.md: superseded by {new[1]} since " in done
        assert done.endswith(" Changed decisions/a.md.")
        done = answer(slugs_root, "memory_restore", key="Slugs")
        assert done == (
            f"decisions/a.md: holds. Changed decisions/a.md, {new[1]}. "
            f"Removed the marks: superseded by {new[1]}."
        )
        assert answer(slugs_root, "memory_supersede", old="Slugs", by="Rings").startswith(
            f"decisions/a.md: superseded by {new[1]} since "
        )
        done = answer(slugs_root, "memory_restore", key=new[1])
        assert done.endswith(": holds. Nothing had to be changed.")

    def test_an_edit_needs_the_digest(self, slugs_root: Path) -> None:
        read = answer(slugs_root, "memory_read", key="a", limit=1)
        digest = read.split("digest ")[1][:12]
        new = {"key": "a", "text": "Beer, at night.", "section": "Slugs", "digest": digest}
        done = answer(slugs_root, "memory_edit", **new)
        assert re.fullmatch(r"Edited decisions/a\.md; its digest is [0-9a-f]{12}\.", done)
        text = (slugs_root / "decisions/a.md").read_text()
        assert text == "---\ndate: 2026-04-18\n---\n# Slugs\n\nBeer, at night.\n"
        assert "changed since you read it" in refusal(slugs_root, "memory_edit", **new)
        new = {"key": "a", "text": "More.", "append": True, "digest": done[-13:-1]}
        answer(slugs_root, "memory_edit", **new)
        assert (slugs_root / "decisions/a.md").read_text() == f"{text}\nMore.\n"

    def test_a_wrapup_is_kept(self, slugs_root: Path) -> None:
        done = answer(slugs_root, "memory_wrapup", title="S", text=WRAPUP, topic="slugs")
        assert re.fullmatch(
            r"Wrote sessions/[-\d]+-s\.md\. Related memories: decisions/a\.md\.", done
        )
        refused = refusal(slugs_root, "memory_wrapup", title="S", text="## Findings")
        assert refused.startswith("Missing required sections: ## Decisions")


class TestStructured:
    def test_the_result_is_in_the_answer_once(self, slugs_root: Path) -> None:
        async def asking(client: Client) -> Any:
            return await client.call_tool("memory_recall", {"query": "slugs"})

        result = ask(slugs_root, asking, structured=True)
        assert text_of(result) == "The result is in structuredContent."
        with MemoryRoot.open(slugs_root) as root:
            assert result.structured_content == root.recall("slugs").to_dict()

    def test_errors_are_text(self, slugs_root: Path) -> None:
        async def asking(client: Client) -> Any:
            return await client.call_tool("memory_read", {"key": "x"})

        result = ask(slugs_root, asking, structured=True)
        assert result.is_error
        assert text_of(result).startswith("there is no memory 'x'")


def test_names_that_are_no_text_can_be_sent(slugs_root: Path) -> None:
    folder = str(slugs_root / "notes").encode()
    try:
        Path(folder.decode() + "/x\udcff.md").write_bytes(b"\xff\x00 slugs")
    except OSError:
        pytest.skip("the system has no such names")
    assert "slugs" in answer(slugs_root, "memory_recall", query="slugs").casefold()


async def instructions_of(client: Client) -> str | None:
    return client.instructions


def test_another_spelling_is_said(slugs_root: Path) -> None:
    found = answer(slugs_root, "memory_recall", query="pelets")
    assert "decisions/a.md" in found
    assert "For pelets, also searched: pellets." in found
