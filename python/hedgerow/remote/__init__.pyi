from .connecting import connect as connect
from .clients import (
    RemoteRetriever as RemoteRetriever,
    RemoteRoot as RemoteRoot,
)
