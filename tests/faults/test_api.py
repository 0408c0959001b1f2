"""Every public function, constructor and method, called with invalid arguments.

Each argument in turn is replaced by each hostile value, while the others are valid. Then hypothesis
replaces several at once. The call must return a result or raise an error that names the problem: a
TypeError, a ValueError or an error of the package.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hostile_calls import HOSTILE, Call, Scene, calls

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))
"""The number of examples per call. `make fuzz` tries more."""
CALLS = {call.name: call for call in calls()}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Handles to call, in a folder where all files may be changed."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("scene")
        patch.chdir(folder)
        patch.delenv("HEDGEROW_MEMORY_ROOT", raising=False)
        with Scene(folder) as scene:
            yield scene


def failure(scene: Scene, call: Call, replaced: dict[str, Any]) -> str | None:
    """Return a description of a wrong outcome, or None."""
    try:
        scene.run(call, replaced)
    except Exception as error:  # noqa: BLE001 - that is the question
        problem = scene.judge(error)
    except BaseException as error:  # noqa: BLE001 - a panic is no Exception
        problem = scene.judge(error)
    else:
        problem = None
    return problem


@pytest.mark.parametrize("name", CALLS)
def test_one_hostile_argument(scene: Scene, name: str) -> None:
    call = CALLS[name]
    found = []
    for parameter in call.parameters:
        for kind, make in HOSTILE.items():
            problem = failure(scene, call, {parameter: make()})
            if problem is not None:
                found.append(f"{name} {parameter} {kind}: {problem}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_several_hostile_arguments(scene: Scene, name: str, data: st.DataObject) -> None:
    call = CALLS[name]
    if not call.parameters:
        return
    chosen = data.draw(
        st.dictionaries(st.sampled_from(call.parameters), st.sampled_from([*HOSTILE]))
    )
    replaced = {parameter: HOSTILE[kind]() for parameter, kind in chosen.items()}
    assert failure(scene, call, replaced) is None


def test_nothing_public_is_passed_over() -> None:
    called = {name.partition(".")[0] for name in CALLS}
    assert set(hr.__all__) - called <= Scene.NOT_CALLED
