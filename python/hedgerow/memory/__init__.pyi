from .root_files import IndexState as IndexState
from .imports.moving import Imported as Imported, Moved as Moved
from .results import (
    About as About,
    Audit as Audit,
    AuditFinding as AuditFinding,
    Context as Context,
    Diff as Diff,
    Edge as Edge,
    Event as Event,
    Forgotten as Forgotten,
    GrepResult as GrepResult,
    LineMatch as LineMatch,
    History as History,
    Linked as Linked,
    Links as Links,
    Listed as Listed,
    Marked as Marked,
    Memory as Memory,
    MemoryList as MemoryList,
    Passage as Passage,
    Processed as Processed,
    Provenance as Provenance,
    Recall as Recall,
    Recalled as Recalled,
    RelatedMemory as RelatedMemory,
    Remembered as Remembered,
    Renamed as Renamed,
    RootGraph as RootGraph,
    RootStatus as RootStatus,
    Skip as Skip,
    Validation as Validation,
    Visited as Visited,
    WrappedUp as WrappedUp,
)
from .root import MemoryRoot as MemoryRoot
from .roots import MemoryRoots as MemoryRoots
from .results import (
    DepthPolicy as DepthPolicy,
    ScoreParts as ScoreParts,
    depth_boost as depth_boost,
)
from .config import Initialized as Initialized
from .sync import PassedBy as PassedBy, SyncReport as SyncReport
from .times import Period as Period
from .trust import TrustRequest as TrustRequest
from .times import Validity as Validity
from .why_not import RecallWhyNot as RecallWhyNot
