from .config import RootStatus as RootStatus
from .setup import Initialized as Initialized
from .context import Context as Context, Passage as Passage
from .forget import Forgotten as Forgotten
from .imports.moving import Imported as Imported, Moved as Moved
from .freshness import IndexState as IndexState
from .marking import Marked as Marked
from .periods import Period as Period
from .process import Processed as Processed
from .recall import Recall as Recall, Recalled as Recalled
from .rename import Renamed as Renamed
from .requests import Request as Request
from .results import (
    Remembered as Remembered,
    RootGraph as RootGraph,
    Skip as Skip,
    WrappedUp as WrappedUp,
)
from .root import MemoryRoot as MemoryRoot
from .score import DepthPolicy as DepthPolicy, ScoreParts as ScoreParts, depth_boost as depth_boost
from .validity import Validity as Validity
from .sync import PassedBy as PassedBy, SyncReport as SyncReport
from .texts import Listed as Listed, Memory as Memory, MemoryList as MemoryList
