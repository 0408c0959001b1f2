"""The lock file of a server, whatever its content."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from hedgerow._serve.single_instance import single_instance
from hedgerow.errors import HedgerowError


@pytest.mark.parametrize(
    "written", [b"", b"\xff", b"[]", b'{"pid": 1e999, "url": ""}', b"[" * 4_096]
)
def test_a_holder_that_cannot_be_read_is_another_process(tmp_path, written):
    file = tmp_path / "server"
    with ExitStack() as stack:
        stack.enter_context(single_instance(file, "http://127.0.0.1:1"))
        file.write_bytes(written)
        with pytest.raises(HedgerowError, match="another process serves this already") as caught:
            stack.enter_context(single_instance(file, "http://127.0.0.1:2"))
    assert caught.value.code == "already_served"
