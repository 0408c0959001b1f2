"""benches/serve.py on a small index, with a load of one request."""

from __future__ import annotations

import sys

import pytest

import serve

TOOL = """#!{python}
import json, sys, urllib.request
arguments = sys.argv[1:]
options = dict(zip(arguments, arguments[1:]))
with open(options["-Z"]) as bodies:
    body = bodies.readline().encode()
name, _, value = options["-H"].partition(": ")
headers = {{name: value, "Content-Type": options["-T"]}}
request = urllib.request.Request(arguments[-1], body, headers, method=options["-m"])
with urllib.request.urlopen(request) as answer:
    states = {{str(answer.status): 40}}
    assert json.load(answer)["query"] == json.loads(body)["query"]
print(json.dumps({{"statusCodeDistribution": states, "latencyPercentiles": {{"p50": 0.002, "p99": 0.009}}}}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads memory from /proc")
def test_the_bench_of_the_server_runs(tmp_path, monkeypatch, capsys):
    tool = tmp_path / "oha"
    tool.write_text(TOOL.format(python=sys.executable))
    tool.chmod(0o755)
    monkeypatch.setenv("OHA", str(tool))
    monkeypatch.setattr(serve, "_WARM", 0.1)
    options = ["--chunks", "300", "--notes", "20", "--sessions", "2", "--seconds", "0.5"]
    assert serve.main(options) == 0
    told = capsys.readouterr().out
    assert told.count("| one server | 80 |") == 2
    for way in ("search_many of 100", "search_many of 2", "one process a session"):
        assert f"| {way}" in told


def test_without_a_tool_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delenv("OHA", raising=False)
    monkeypatch.setenv("PATH", "")
    assert serve.main([]) == 2
    assert "cargo install oha" in capsys.readouterr().err
