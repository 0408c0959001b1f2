from .connecting import connect as connect
from .retriever import RemoteRetriever as RemoteRetriever
from .root import RemoteRoot as RemoteRoot
