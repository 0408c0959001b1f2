"""Memories in ten scripts, in every call, command, tool and import format."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp import Client

from command_line import as_json, ok, run
from hedgerow import HedgerowError, MemoryRoot
from hedgerow.mcp import build_server
from memory_doubles import put


class Script(NamedTuple):
    """A memory: its title and text, a word and a phrase from it, a tag, and another memory."""

    title: str
    text: str
    word: str
    phrase: str
    tag: str
    other_title: str
    other_text: str


SCRIPTS = {
    "latin": Script(
        "Größe der Hecke", "Die Bäume überwintern häufig unter dürren Ästen.", "überwintert", "dürren Ästen",
        "gärten", "Höhe der Zäune", "Sträucher blühen früh.",
    ),
    "vietnamese": Script(
        "Hàng rào xanh", "Nhím ngủ đông dưới bụi cây ở Việt Nam.", "bụi", "ngủ đông", "vườn", "Mùa đông", "Mưa rơi nhiều ở miền Bắc.",
    ),
    "cyrillic": Script(
        "Ёжики зимой", "Ежи спят под программными кустами.", "программа", "под программными", "сад", "Весенний лес", "Весной тает снег.",
    ),
    "greek": Script(
        "Ο σκαντζόχοιρος", "Οι σκαντζόχοιροι κοιμούνται τον χειμώνα.", "χειμωνα", "κοιμούνται τον", "κήπος", "Άνοιξη", "Τα δέντρα ανθίζουν νωρίς.",
    ),
    "arabic": Script(
        "القنفذ في الشتاء", "ينام القنفذ والكتاب في المكتبة.", "كتاب", "في المكتبة", "حديقة", "الربيع", "تزهر الأشجار مبكرا.",
    ),
    "hebrew": Script(
        "קיפוד בחורף", "הקיפוד ישן מתחת לשיח בגן.", "לשיח", "מתחת לשיח", "גינה", "אביב", "העצים פורחים מוקדם.",
    ),
    "devanagari": Script(
        "सर्दियों में हाथी", "लोग सर्दियों में किताबें पढ़ते हैं।", "किताब", "में किताबें", "बगीचा", "बसंत", "पेड़ जल्दी खिलते हैं।",
    ),
    "chinese": Script("树篱笔记", "刺猬在树篱下冬眠。", "冬眠", "树篱下", "花园", "春天笔记", "雪在三月融化。"),
    "japanese": Script("生け垣のメモ", "ハリネズミは生け垣の下で冬眠する。", "冬眠", "生け垣の下", "ガーデン", "春のメモ", "雪は三月に溶ける。"),
    "korean": Script(
        "울타리 메모", "고슴도치는 울타리 아래에서 겨울잠을 잔다.", "겨울잠", "울타리 아래에서", "정원", "봄 메모", "눈이 삼월에 녹는다.",
    ),
    "thai": Script("บันทึกพุ่มไม้", "เม่นจำศีลใต้พุ่มไม้ในฤดูหนาว", "จำศีล", "ใต้พุ่มไม้", "สวน", "บันทึกฤดูใบไม้ผลิ", "หิมะละลายในเดือนมีนาคม"),
}  # fmt: skip

scripts = pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)


def files(found: Any) -> list[str]:
    return [one.file for one in found]


def fill(root: MemoryRoot, script: Script) -> str:
    """Remember the memory of a script among others, and return its file."""
    done = root.remember(script.text, title=script.title, tags=[script.tag])
    root.remember(script.other_text, title=script.other_title)
    root.remember("The oak lost its leaves.", title="Oak")
    return done.file


class TestCalls:
    @scripts
    def test_words_and_phrases_are_recalled_in_both_forms(
        self, root: MemoryRoot, script: Script
    ) -> None:
        file = fill(root, script)
        for form in ("NFC", "NFD"):
            for query in (script.word, f'"{script.phrase}"', script.title, script.text):
                found = root.recall(unicodedata.normalize(form, query))
                assert files(found)[:1] == [file], (form, query)
            assert files(
                root.recall(script.word, tags=[unicodedata.normalize(form, script.tag)])
            ) == [file]
        [best] = root.recall(script.word, limit=1)
        assert best.snippet.endswith(script.text)

    @scripts
    def test_the_name_of_a_file_keeps_its_letters(self, root: MemoryRoot, script: Script) -> None:
        file = fill(root, script)
        name = Path(file).stem.split("-", 3)[-1]
        assert any(letter.isalpha() for letter in name)
        assert unicodedata.is_normalized("NFC", file)
        assert (root.path / file).is_file()

    @scripts
    def test_a_title_is_a_key(self, root: MemoryRoot, script: Script) -> None:
        file = fill(root, script)
        for form in ("NFC", "NFD"):
            title = unicodedata.normalize(form, script.title)
            assert root.resolve(title) == file
            assert script.text in root.show(title).text

    @scripts
    def test_the_same_text_in_another_form_is_a_duplicate(
        self, root: MemoryRoot, script: Script
    ) -> None:
        fill(root, script)
        with pytest.raises(HedgerowError) as refused:
            root.remember(unicodedata.normalize("NFD", script.text), title="Again")
        assert refused.value.code == "duplicate_memory"

    @scripts
    def test_an_edit_is_found(self, root: MemoryRoot, script: Script) -> None:
        file = fill(root, script)
        memory = root.show(file)
        root.edit(file, memory.text.replace(script.text, script.other_text), memory.digest)
        assert file not in files(root.recall(f'"{script.phrase}"'))
        assert file in files(root.recall(script.other_text))

    @scripts
    def test_links_follow_a_new_name(self, root: MemoryRoot, script: Script) -> None:
        file = fill(root, script)
        link = put(root.path, "notes/link.md", f"# Link\n\nSee [[{script.title}]].\n")
        done = root.rename(script.title, f"notes/{script.other_title} 2.md")
        assert not (root.path / file).exists()
        assert root.resolve(f"notes/{script.other_title} 2.md") == done.to
        assert files(root.recall(f'"{script.phrase}"')) == [done.to]
        assert link.read_text(encoding="utf-8").startswith("# Link\n\nSee [[")
        edges = {(one[0], one[1]) for one in root.graph().edges}
        assert ("notes/link.md", done.to) in edges

    @scripts
    def test_a_superseded_memory_is_left_out(self, root: MemoryRoot, script: Script) -> None:
        file = fill(root, script)
        root.supersede(script.title, text=f"{script.text} {script.other_text}")
        found = root.recall(f'"{script.phrase}"')
        assert file not in files(found)
        assert len(found) == 1


class TestCommands:
    pytestmark = pytest.mark.usefixtures("here")

    @scripts
    def test_every_command_takes_and_shows_it(self, script: Script) -> None:
        ok("init", "--root", "memory")
        in_root = ("--root", "memory")
        file = as_json(
            "remember", script.text, "--title", script.title, "--tag", script.tag, *in_root
        )["file"]
        assert run("recall", script.word, *in_root).stdout.count(script.text) == 1
        [found] = json.loads(run("recall", script.word, "--json", *in_root).stdout)["results"]
        assert found["provenance"]["file"] == file
        assert file in ok("list", *in_root)
        found = json.loads(
            run("recall", script.word, "--tag", script.tag, "--json", *in_root).stdout
        )
        assert [one["provenance"]["file"] for one in found["results"]] == [file]
        assert script.text in run("show", script.title, *in_root).stdout
        ok("rename", script.title, f"notes/{script.other_title}.md", *in_root)
        assert script.text in run("show", f"notes/{script.other_title}.md", *in_root).stdout
        ok("supersede", f"notes/{script.other_title}.md", script.other_text, *in_root)
        assert script.other_text in run("recall", script.other_text, *in_root).stdout


class TestTools:
    @scripts
    def test_every_tool_takes_and_gives_it(self, root: MemoryRoot, script: Script) -> None:
        async def use() -> dict[str, Any]:
            async with Client(build_server(root, structured=True)) as client:

                async def answer(tool: str, **arguments: Any) -> Any:
                    result = await client.call_tool(tool, arguments)
                    assert not result.is_error, result.content
                    return result.structured_content

                done = await answer(
                    "memory_remember", title=script.title, text=script.text, tags=[script.tag]
                )
                found = await answer("memory_recall", query=script.word)
                tagged = await answer("memory_recall", query=script.word, tags=[script.tag])
                read = await answer("memory_read", key=script.title)
                listed = await answer("memory_list")
                packed = await answer("memory_recall", query=script.word, budget=1000)
                edited = await answer(
                    "memory_edit",
                    key=script.title,
                    text=read["text"].replace(script.text, script.other_text),
                    digest=read["digest"],
                )
                later = await answer("memory_recall", query=script.other_text)
                return {
                    "done": done, "found": found, "tagged": tagged, "read": read, "listed": listed, "packed": packed,
                    "edited": edited, "later": later,
                }  # fmt: skip

        got = anyio.run(use)
        file = got["done"]["file"]
        for answer in ("found", "tagged", "later"):
            assert [one["provenance"]["file"] for one in got[answer]["results"]] == [file], answer
        assert script.text in got["read"]["text"]
        assert script.text in got["packed"]["text"]
        assert file in json.dumps(got["listed"], ensure_ascii=False)


class TestImports:
    @scripts
    @pytest.mark.parametrize("form", ["NFC", "NFD"])
    def test_memories_of_every_program_are_found(
        self, tmp_path: Path, script: Script, form: Any
    ) -> None:
        title, text, tag = (
            unicodedata.normalize(form, one) for one in (script.title, script.text, script.tag)
        )
        note = f"---\ntitle: {title}\ntags: [{tag}]\n---\n{text}\n"
        made = tmp_path / "made"
        put(made, f"obsidian/{title}.md", note)
        put(made, f"basic-memory/{title}.md", note)
        put(made, "mem0.json", json.dumps({"results": [{"id": "1", "memory": text}]}))
        put(
            made,
            "memories.jsonl",
            json.dumps({"id": 1, "text": text, "title": title, "tags": [tag]}),
        )
        message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
        chat = {
            "title": title,
            "conversation_id": "c",
            "create_time": 1.7e9,
            "current_node": "n",
            "mapping": {"n": {"id": "n", "message": message, "parent": None, "children": []}},
        }
        put(made, "chatgpt.json", json.dumps([chat]))
        said = {"sender": "human", "text": text, "created_at": "2025-01-02T03:04:05Z"}
        claude = {
            "uuid": "u",
            "name": title,
            "created_at": "2025-01-02T03:04:05Z",
            "chat_messages": [said],
        }
        put(made, "claude.json", json.dumps([claude]))
        for name, source in {
            "obsidian": "obsidian",
            "basic-memory": "basic-memory",
            "mem0": "mem0.json",
            "jsonl": "memories.jsonl",
            "chatgpt": "chatgpt.json",
            "claude": "claude.json",
        }.items():
            target = MemoryRoot.init(tmp_path / f"root-{name}")
            done = target.import_from(made / source, name, apply=True)
            assert [one.action for one in done.memories] == ["new"], (name, done)
            assert not done.unreadable, name
            [file] = [one.file for one in done.memories]
            assert files(target.recall(script.word)) == [file], name
            assert files(target.recall(f'"{script.phrase}"')) == [file], name
            if name in {"obsidian", "basic-memory", "jsonl"}:
                assert files(target.recall(script.word, tags=[script.tag])) == [file], name
            again = target.import_from(made / source, name, apply=True)
            assert "new" not in [one.action for one in again.memories], name
