"""The neighborhood of a node and its drawing: `hedgerow graph KEY` below the command line."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

import hedgerow as hr
from hedgerow._graph.figures import around, neighborhood_of


def test_a_node_that_is_left_out_counts_once() -> None:
    triangle = [("a", "b", "link", 1.0), ("a", "c", "link", 0.5), ("b", "c", "link", 0.5)]
    part = around(triangle, "a", hops=3, most=2)
    assert (dict(part.hops), part.left_out) == ({"a": 0, "b": 1}, 1)


def test_a_drawing_is_xml_whatever_keys_and_relations_hold() -> None:
    pytest.importorskip("networkx")
    from hedgerow._graph.svg import draw  # noqa: PLC0415 - needs the extra

    key = "bell\x07 <b> & \ufffe"
    with hr.Store.in_memory() as store:
        store.upsert([hr.Node(key), hr.Node("b")])
        store.link(key, "b", 0.5, rel="one, two")
        store.link("b", key, 0.8, rel="esc\x1b")
        part = neighborhood_of(store, key, hops=1, most=5)
    drawn = draw(part, {key: ("note\x00", 0.5), "b": ("note", 0.5)})
    titles = [one.text for one in ET.fromstring(drawn).iter() if one.tag.endswith("title")]  # noqa: S314 - ours
    shown = key.replace("\x07", "\ufffd").replace("\ufffe", "\ufffd")
    assert f"{shown} (note\ufffd, weight 0.5)" in titles
    assert f"b - {shown}: esc\ufffd, one, two, 0.8" in titles
