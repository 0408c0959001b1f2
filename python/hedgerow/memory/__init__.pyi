from .root_files import IndexState as IndexState
from .imports.moving import ImportResult as ImportResult, ImportedMemory as ImportedMemory
from .results import (
    About as About,
    Audit as Audit,
    AuditFinding as AuditFinding,
    Context as Context,
    Diff as Diff,
    Edge as Edge,
    Event as Event,
    ForgetResult as ForgetResult,
    GrepResult as GrepResult,
    LineMatch as LineMatch,
    History as History,
    LinkResult as LinkResult,
    Links as Links,
    ListedMemory as ListedMemory,
    MarkResult as MarkResult,
    Memory as Memory,
    MemoryList as MemoryList,
    Passage as Passage,
    ProcessResult as ProcessResult,
    Provenance as Provenance,
    Recall as Recall,
    RecalledMemory as RecalledMemory,
    RecallWhyNot as RecallWhyNot,
    RelatedMemory as RelatedMemory,
    RememberResult as RememberResult,
    RenameResult as RenameResult,
    RootGraph as RootGraph,
    RootStatus as RootStatus,
    SimilarGroup as SimilarGroup,
    SimilarMemory as SimilarMemory,
    Skip as Skip,
    Validation as Validation,
    VisitResult as VisitResult,
    WrapupResult as WrapupResult,
)
from .root import MemoryRoot as MemoryRoot
from .roots import MemoryRoots as MemoryRoots
from .results import (
    DepthPolicy as DepthPolicy,
    ScoreParts as ScoreParts,
    depth_boost as depth_boost,
)
from .config import InitResult as InitResult
from .sync import PassedBy as PassedBy, SyncReport as SyncReport
from .trust import TrustRequest as TrustRequest
from .times import Validity as Validity
