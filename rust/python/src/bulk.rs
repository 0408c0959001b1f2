//! The arguments of `link_many` and `visit_many`: tuples in the order of `link` and `visit`, or
//! mappings with the names of their parameters.

use hedgerow_engine::ErrorCode;
use hedgerow_graph::graph::{EdgeInput, Outcome, VisitInput};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyTuple};

use crate::errors;
use crate::node::seconds;
use crate::value::{self, Argument};

/// The fields of the items of a list: their names in order, the first `required` of which are
/// mandatory.
struct Items {
    list: &'static str,
    code: ErrorCode,
    names: &'static [&'static str],
    required: usize,
}

const EDGES: Items = Items {
    list: "edges",
    code: ErrorCode::InvalidEdge,
    names: &["a", "b", "strength", "rel"],
    required: 2,
};

const VISITS: Items = Items {
    list: "visits",
    code: ErrorCode::InvalidOption,
    names: &["agent", "key", "at", "outcome"],
    required: 3,
};

/// The edges of any iterable.
pub fn edges(object: &Bound<'_, PyAny>) -> PyResult<Vec<EdgeInput>> {
    EDGES.read(object, |item| {
        Ok(EdgeInput {
            source: item.text(0)?,
            target: item.text(1)?,
            strength: match item.get(2) {
                Some(strength) => item.with_name(2, |argument| argument.number(strength))?,
                None => 1.0,
            },
            relation: match item.get(3) {
                Some(_) => item.text(3)?,
                None => "link".to_owned(),
            },
        })
    })
}

/// The visits of any iterable.
pub fn visits(object: &Bound<'_, PyAny>) -> PyResult<Vec<VisitInput>> {
    VISITS.read(object, |item| {
        Ok(VisitInput {
            agent: item.text(0)?,
            key: item.text(1)?,
            at: item.with_name(2, |argument| seconds(&item.values[2], argument))?,
            outcome: match item.get(3) {
                Some(_) => {
                    let outcome = item.text(3)?;
                    let name = item.name(3);
                    errors::call(|| Outcome::from_option(&name, &outcome))?
                }
                None => Outcome::default(),
            },
        })
    })
}

/// An item: its values, in the order of the names.
struct Item<'a, 'py> {
    of: &'a Items,
    position: usize,
    values: Vec<Bound<'py, PyAny>>,
}

impl<'py> Item<'_, 'py> {
    fn get(&self, at: usize) -> Option<&Bound<'py, PyAny>> {
        self.values.get(at).filter(|value| !value.is_none())
    }

    fn name(&self, at: usize) -> String {
        format!("{}[{}].{}", self.of.list, self.position, self.of.names[at])
    }

    fn with_name<T>(
        &self,
        at: usize,
        read: impl FnOnce(Argument<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        read(Argument {
            name: &self.name(at),
            code: self.of.code,
        })
    }

    fn text(&self, at: usize) -> PyResult<String> {
        self.with_name(at, |argument| argument.text(&self.values[at]))
    }
}

impl Items {
    fn read<T>(
        &self,
        object: &Bound<'_, PyAny>,
        make: impl Fn(&Item<'_, '_>) -> PyResult<T>,
    ) -> PyResult<Vec<T>> {
        let list = Argument {
            name: self.list,
            code: self.code,
        };
        let Ok(items) = object.try_iter() else {
            return Err(list.wrong(&format!("must be an iterable of {}", self.forms()), object));
        };
        let mut found = Vec::new();
        for (position, item) in items.enumerate() {
            let values = self.values(&item?, position)?;
            found.push(make(&Item {
                of: self,
                position,
                values,
            })?);
        }
        Ok(found)
    }

    fn values<'py>(
        &self,
        item: &Bound<'py, PyAny>,
        position: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let name = format!("{}[{position}]", self.list);
        let argument = Argument {
            name: &name,
            code: self.code,
        };
        if let Ok(mapping) = item.cast::<PyMapping>() {
            return self.of_mapping(mapping, argument);
        }
        if !item.is_instance_of::<PyTuple>() && !item.is_instance_of::<PyList>() {
            return Err(argument.wrong(&format!("must be {}", self.forms()), item));
        }
        let values: Vec<Bound<'py, PyAny>> = item.try_iter()?.collect::<PyResult<_>>()?;
        if values.len() < self.required || values.len() > self.names.len() {
            let count = values.len();
            return Err(argument.error(&format!("must be {}, not {count} values", self.forms())));
        }
        Ok(values)
    }

    fn of_mapping<'py>(
        &self,
        mapping: &Bound<'py, PyMapping>,
        argument: Argument<'_>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        for key in mapping.keys()? {
            let known = key.extract::<String>();
            if !known.is_ok_and(|key| self.names.contains(&key.as_str())) {
                let key = value::repr(&key);
                let names = self.names.join(", ");
                return Err(argument.error(&format!("has the key {key}; the keys are {names}")));
            }
        }
        let mut values = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            if mapping.contains(name)? {
                values.push(mapping.get_item(name)?);
            } else if at < self.required {
                return Err(
                    argument.error(&format!("has no {name:?}; it must be {}", self.forms()))
                );
            } else {
                values.push(mapping.py().None().into_bound(mapping.py()));
            }
        }
        Ok(values)
    }

    /// Return the valid forms of an item, for a message.
    fn forms(&self) -> String {
        let (first, rest) = self.names.split_at(self.required);
        let mut tuple = first.join(", ");
        for name in rest {
            tuple = format!("{tuple}[, {name}]");
        }
        format!("({tuple}), or a mapping with these names")
    }
}
