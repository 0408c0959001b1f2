//! The register of rules: every heuristic that changes which results are found, refused, hidden or reordered
//! (docs/explanation/rules.md).
//!
//! What the specification's documents demand is no rule in this sense. A rule states what it does and its constants
//! beside the code that applies it, and can be switched off, so that `benches/rules.py` measures its gain and its cost
//! on judged data. Nothing but benches and tests switches a rule: the switch is one of the process, not of a search.

use std::fmt::{self, Debug, Display};
use std::sync::atomic::{AtomicBool, Ordering};

/// A heuristic with its constants. Made by [`rule!`](crate::rule).
pub struct Rule {
    /// The name in the register: unique, in lower case.
    pub name: &'static str,
    /// The effect, as one or more sentences.
    pub effect: &'static str,
    /// The path of the module that applies it.
    pub module: &'static str,
    /// The names and values of its constants.
    pub constants: &'static [(&'static str, &'static (dyn Debug + Sync))],
    #[doc(hidden)]
    pub is_off: AtomicBool,
}

impl Rule {
    /// Whether the rule is applied. Costs a load without ordering; read it once for a search, not for each chunk.
    pub fn is_on(&self) -> bool {
        !self.is_off.load(Ordering::Relaxed)
    }

    /// Switch the rule for the whole process. Indexes keep what was written before.
    pub fn switch(&self, on: bool) {
        self.is_off.store(!on, Ordering::Relaxed);
    }
}

impl Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, out)
    }
}

impl Display for Rule {
    /// The name, and the constants with their values.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)?;
        for (at, (name, value)) in self.constants.iter().enumerate() {
            let before = if at == 0 { ": " } else { ", " };
            write!(out, "{before}{name} = {value:?}")?;
        }
        Ok(())
    }
}

/// Define a rule: its effect as documentation, its name, and the constants that it depends on.
#[macro_export]
macro_rules! rule {
    (
        $(#[doc = $effect:literal])+
        $visibility:vis static $rule:ident = $name:literal { $($constant:expr),* $(,)? }
    ) => {
        $(#[doc = $effect])+
        $visibility static $rule: $crate::rule::Rule = $crate::rule::Rule {
            name: $name,
            effect: concat!($($effect),+),
            module: module_path!(),
            constants: &[$((stringify!($constant), &$constant)),*],
            is_off: ::std::sync::atomic::AtomicBool::new(false),
        };
    };
}

#[cfg(test)]
mod tests {
    const FACTOR: f64 = 0.5;

    rule! {
        /// Halves a score.
        static HALVED = "halved" { FACTOR }
    }

    #[test]
    fn a_rule_states_its_effect_and_constants_and_can_be_switched() {
        assert_eq!(HALVED.effect.trim(), "Halves a score.");
        assert_eq!(HALVED.to_string(), "halved: FACTOR = 0.5");
        assert!(HALVED.module.ends_with("rule::tests"));
        assert!(HALVED.is_on());
        HALVED.switch(false);
        assert!(!HALVED.is_on());
    }
}
