//! The register of rules, for benches (docs/explanation/rules.md).

use hedgerow_engine::rule::Rule;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The name, effect and module of a rule, its constants with their values, and whether it is on.
type RuleRow = (
    &'static str,
    String,
    &'static str,
    Vec<(&'static str, String)>,
    bool,
);

fn registered() -> impl Iterator<Item = &'static &'static Rule> {
    let rules = [hedgerow_engine::rules::RULES, hedgerow_memory::rules::RULES];
    rules.into_iter().flatten()
}

/// Return every rule of the register: name, effect, module, constants, and whether it is on.
#[pyfunction]
pub fn _rules() -> Vec<RuleRow> {
    let rows = registered().map(|rule| {
        let constants = rule.constants.iter();
        let constants = constants.map(|(name, value)| (*name, format!("{value:?}")));
        let effect = rule.effect.split_whitespace().collect::<Vec<_>>().join(" ");
        (
            rule.name,
            effect,
            rule.module,
            constants.collect(),
            rule.is_on(),
        )
    });
    rows.collect()
}

/// Switch a rule for the whole process. Raises ValueError if the register has no such name.
#[pyfunction]
pub fn _switch_rule(name: &str, on: bool) -> PyResult<()> {
    let rule = registered().find(|rule| rule.name == name);
    let rule = rule.ok_or_else(|| PyValueError::new_err(format!("no rule {name:?}")))?;
    rule.switch(on);
    Ok(())
}
