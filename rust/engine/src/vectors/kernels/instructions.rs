//! The choice of instructions for the loops.

use std::sync::atomic::{AtomicU8, Ordering};

/// The sets of instructions that loops are compiled for. A processor has those of its family up to one
/// of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Instructions {
    /// The instructions of every processor of the target.
    Portable = 1,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon = 2,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2 = 2,
    /// AVX-512 with VNNI, as in Cascade Lake, Zen 4 and later.
    #[cfg(target_arch = "x86_64")]
    Avx512 = 3,
}

/// The instructions that loops use; 0 before the first loop runs.
static CURRENT: AtomicU8 = AtomicU8::new(0);

impl Instructions {
    /// Every set for this family of processors, the narrowest first.
    pub const ALL: &[Self] = &[
        Self::Portable,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
    ];

    /// The widest set that this processor has.
    pub fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self::Neon;
        }
        Self::Portable
    }

    /// Have the loops of this process use nothing wider than this set. Results stay the same to the
    /// bit: tests and benches compare the sets.
    pub fn limit(self) {
        let current = self.min(Self::detected());
        CURRENT.store(current as u8, Ordering::Relaxed);
    }

    /// The set that loops use. The processor has it.
    #[inline]
    pub(super) fn available() -> Self {
        let current = CURRENT.load(Ordering::Relaxed);
        if let Some(known) = Self::ALL.iter().find(|set| **set as u8 == current) {
            return *known;
        }
        let detected = Self::detected();
        CURRENT.store(detected as u8, Ordering::Relaxed);
        detected
    }
}

/// Run `work` once with each set of instructions that this processor has.
#[cfg(test)]
pub(in crate::vectors) fn with_each(mut work: impl FnMut(Instructions)) {
    use std::sync::{Mutex, PoisonError};
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let detected = Instructions::detected();
    for instructions in Instructions::ALL.iter().copied() {
        if instructions <= detected {
            instructions.limit();
            work(instructions);
        }
    }
}
