"""An endpoint whose failures say whether a model should be asked again. Importing it needs httpx."""

from __future__ import annotations

from http import HTTPStatus

from hedgerow._endpoint import Endpoint, _Outcome

from .models import ModelError, ModelPermanent, ModelTransient

_PASSING = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
}


class ModelEndpoint(Endpoint):
    """Raises ModelTransient where the server or the way to it failed, ModelPermanent where it
    understood and refused.
    """

    def _error(self, message: str, outcome: _Outcome) -> ModelError:
        status = outcome.status
        refused = status is not None and status not in _PASSING and status < _SERVER_ERRORS
        kind = ModelPermanent if refused or outcome.code == "bad_answer" else ModelTransient
        return kind(message, code=outcome.code)


_SERVER_ERRORS = HTTPStatus.INTERNAL_SERVER_ERROR
