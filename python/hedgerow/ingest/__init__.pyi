from .discovery import SUFFIXES as SUFFIXES, Discovery as Discovery, discover as discover
from .passages import PASSAGE_LIMIT as PASSAGE_LIMIT
from .readers import read_chunks as read_chunks
from .run import IndexRun as IndexRun, RunReport as RunReport
from .source import (
    TITLE_SEPARATOR as TITLE_SEPARATOR,
    Skip as Skip,
    Source as Source,
    UnreadableSourceError as UnreadableSourceError,
)
