"""How a failure is reported: one sentence on stderr, or one JSON object, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hedgerow import HedgerowError, PipelineError

from .fixes import message_with_fixes
from .output import echo, escape_unencodable, json_bytes, log_printably, open_closed_streams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FAILED = 1
USAGE = 2
INTERRUPTED = 130

REPEAT = "run the same command again to finish"
WRITTEN_SO_FAR = f"every file written so far is complete; {REPEAT}"
"""What an interrupted command that writes files leaves."""

_COMPLETE = "_HEDGEROW_COMPLETE"
"""A shell sets it to ask for its script, or for what may come next."""


class UnfinishedError(Exception):
    """The plan was shown and not executed, because an option was missing."""


class InterruptedRunError(Exception):
    """Ctrl-C, with a sentence about the state it left."""


@contextmanager
def interruptible(state: str | Callable[[], str]) -> Iterator[None]:
    """Report Ctrl-C with the state that it left, or with what a function says of that."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise InterruptedRunError(state if isinstance(state, str) else state()) from stop


def run_group(
    group: click.Group,
    args: Sequence[str] | None = None,
    prog_name: str | None = None,
) -> NoReturn:
    """Run a command line and leave the process with its exit code."""
    open_closed_streams()
    escape_unencodable()
    log_printably()
    arguments = list(sys.argv[1:] if args is None else args)
    name = prog_name or "hedgerow"
    if _COMPLETE in os.environ:
        from click.shell_completion import shell_complete  # noqa: PLC0415 - for shells only

        sys.exit(shell_complete(group, {}, name, _COMPLETE, os.environ[_COMPLETE]))
    sys.exit(_run(group, arguments, name))


def _run(group: click.Group, arguments: list[str], prog_name: str) -> int:  # noqa: PLR0911 - one exit for each way to end
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in options
    context: click.Context | None = None
    try:
        context = group.make_context(prog_name, list(arguments))
        with context:
            group.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as error:
        return _usage(error, as_json=as_json)
    except UnfinishedError as error:
        sys.stdout.flush()
        return _report("not_applied", str(error), as_json=as_json, exit_code=USAGE)
    except HedgerowError as error:
        return _failed(error, context, as_json=as_json)
    except click.ClickException as error:
        return _report("failed", error.format_message(), as_json=as_json)
    except InterruptedRunError as error:
        return _report("interrupted", str(error), as_json=as_json, exit_code=INTERRUPTED)
    except (KeyboardInterrupt, click.Abort):
        return _report("interrupted", "interrupted", as_json=as_json, exit_code=INTERRUPTED)
    except BrokenPipeError:
        # The reader (`| head`) closed the pipe. Buffered output must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, UnicodeEncodeError) as error:
        return _report("system_error", _refusal(error), as_json=as_json)
    return 0


def _refusal(error: OSError | UnicodeEncodeError) -> str:
    if isinstance(error, UnicodeEncodeError):  # the name of a file: what is printed is escaped
        return (
            f"{error.object!r} cannot be written in this locale's encoding, {error.encoding}; "
            "set PYTHONUTF8=1"
        )
    where = f" ({error.filename})" if error.filename else ""
    return f"the system refused: {error.strerror or error}{where}"


def _usage(error: click.UsageError, *, as_json: bool) -> int:
    if isinstance(error, click.NoSuchOption):
        from hedgerow._engine import _nearest  # noqa: PLC0415 - slow to import

        # click counts the hyphens as likeness, and takes --neighbors for --verbose.
        name = error.option_name
        near = _nearest(name, error.possibilities or ())
        error = click.NoSuchOption(name, possibilities=[near] if near else [], ctx=error.ctx)
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.option_name[:2] != "--":
        message += " A text that starts with a hyphen goes after `--`."
    if as_json:
        return _report("usage", message, as_json=True, exit_code=USAGE)
    command = error.ctx.command_path if error.ctx else "hedgerow"
    _to_stderr(f"Error: {message}\nTry `{command} --help`.")
    return USAGE


def _failed(error: HedgerowError, context: click.Context | None, *, as_json: bool) -> int:
    """Report an error of ours; a pipeline that cannot be parsed is wrong usage."""
    message = error.message if context is None else message_with_fixes(error, context)
    fields = error.details()
    if not isinstance(error, PipelineError):
        return _report(error.code, message, as_json=as_json, fields=fields)
    names = ("kind", "stage", "start", "end", "suggestion")
    fields |= {name: getattr(error, name) for name in names}
    if (error.kind, error.stage, error.suggestion) == ("UnknownStage", 0, None):
        message += (
            "\nTexts with words are found by `hedgerow recall WORDS` in a root, by `hedgerow search "
            "WORDS` in an index, or by the stage search:WORD."
        )
    return _report(error.code, message, as_json=as_json, exit_code=USAGE, fields=fields)


def _report(
    code: str,
    message: str,
    *,
    as_json: bool,
    exit_code: int = FAILED,
    fields: Mapping[str, Any] | None = None,
) -> int:
    if as_json:
        error = {"error": {"code": code, "message": message, **(fields or {})}}
        _to_stderr(json_bytes(error, err=True))
    else:
        _to_stderr(f"Error: {message}")
    return exit_code


def _to_stderr(text: str | bytes) -> None:
    """Write an error; a closed stderr changes no exit code."""
    try:
        echo(text, err=True)
    except OSError:
        return
