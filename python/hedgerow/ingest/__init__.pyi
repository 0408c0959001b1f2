from .discovery import (
    SUFFIXES as SUFFIXES,
    Discovery as Discovery,
    PassedBy as PassedBy,
    Rules as Rules,
    discover as discover,
)
from .index_run import IndexRun as IndexRun, IndexReport as IndexReport
from .index_sync import sync_files as sync_files
from .readers import read_chunks as read_chunks
from .source import (
    Skip as Skip,
    Source as Source,
    UnreadableSourceError as UnreadableSourceError,
)
