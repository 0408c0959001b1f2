"""The `hedgerow` command, also as `python -m hedgerow`."""

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run `hedgerow` with the arguments of the process. Ctrl-C while its modules are imported has no traceback."""
    try:
        from .cli import main as run  # noqa: PLC0415 - takes most of the time before a command begins
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted\n")
        sys.exit(_INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
