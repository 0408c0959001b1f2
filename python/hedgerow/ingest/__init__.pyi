from .index_run import IndexReport as IndexReport, IndexRun as IndexRun, sync_files as sync_files
from .source import (
    SUFFIXES as SUFFIXES,
    Discovery as Discovery,
    PassedBy as PassedBy,
    Rules as Rules,
    Skip as Skip,
    Source as Source,
    UnreadableSourceError as UnreadableSourceError,
    discover as discover,
    read_chunks as read_chunks,
)
