//! What a power loss may take from acknowledged writes, where there is a choice.

use crate::named_enum;

named_enum! {
    /// What of the acknowledged writes is kept if the power fails. A killed process loses none in either case.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Durability {
        /// All but the last transactions: a write does not wait for the disk.
        #[default]
        Normal = "normal",
        /// All of them: each write waits until it is on the disk.
        Full = "full",
    }
}

impl Durability {
    /// The statements that give a connection this durability. `fullfsync` is for macOS, whose fsync does not wait for the
    /// cache of the disk; other systems ignore it.
    pub(super) fn statements(self) -> &'static str {
        match self {
            Self::Normal => "PRAGMA synchronous = NORMAL;",
            Self::Full => {
                "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
                 PRAGMA checkpoint_fullfsync = ON;"
            }
        }
    }
}
