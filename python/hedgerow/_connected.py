"""What all adapters with an endpoint have in common: they can be closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._endpoint import Endpoint


class Connected:
    """Holds connections until it is closed."""

    _endpoint: Endpoint

    def close(self) -> None:
        """Close the connections; `with` does it too."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
