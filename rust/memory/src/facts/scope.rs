//! Scopes: whose memories these are (spec/memory.md, "Scopes").

use serde_json::{Map, Value};

use crate::format::front_matter::SCOPE;

/// The most characters of an id.
const LONGEST: usize = 200;
const KEYS: [&str; 3] = ["user", "agent", "session"];
/// The ids of a scope that is stated and cannot be read. No caller can give such an id, so the memory is in no
/// scope that a caller names, and it is not shared.
const UNREADABLE: &str = "";

/// The user, the agent and the session that memories belong to; None for any.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    /// The ids, in the order user, agent, session. None if none is stated, as of most memories.
    stated: Option<Box<[Option<String>; 3]>>,
}

impl Scope {
    /// The scope of these ids, in the order user, agent, session.
    pub fn new(ids: [Option<String>; 3]) -> Self {
        let is_stated = ids.iter().any(Option::is_some);
        Self {
            stated: is_stated.then(|| Box::new(ids)),
        }
    }

    /// The scope that front matter or a fact states. One that cannot be read has ids that no caller can give.
    pub fn stated(metadata: &Map<String, Value>) -> Self {
        metadata.get(SCOPE).map_or_else(Self::default, |value| {
            Self::read(value).unwrap_or_else(Self::unreadable)
        })
    }

    /// The scope of a memory whose scope is unknown.
    pub fn unreadable() -> Self {
        Self::new(KEYS.map(|_| Some(UNREADABLE.to_owned())))
    }

    /// The scope of a value, none for a blank one; None if the value cannot be read.
    fn read(value: &Value) -> Option<Self> {
        let given = match value {
            Value::Null => return Some(Self::default()),
            Value::String(text) if crate::text::trimmed(text).is_empty() => {
                return Some(Self::default());
            }
            value => value.as_object()?,
        };
        if !given.is_empty() && !KEYS.iter().any(|key| given.contains_key(*key)) {
            return None;
        }
        let mut ids = [None, None, None];
        for (own, key) in ids.iter_mut().zip(KEYS) {
            if let Some(value) = given.get(key).filter(|value| !value.is_null()) {
                *own = Some(scope_id(value)?);
            }
        }
        Some(Self::new(ids))
    }

    /// Whether a scope is stated and cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.ids()[0] == Some(UNREADABLE)
    }

    /// The ids, in the order user, agent, session.
    pub fn ids(&self) -> [Option<&str>; 3] {
        let stated = self.stated.as_deref();
        [0, 1, 2].map(|at| stated?[at].as_deref())
    }

    /// Whether no id is stated.
    pub fn is_empty(&self) -> bool {
        self.stated.is_none()
    }

    /// Whether another scope states everything that this one does.
    pub fn has(&self, other: &Self) -> bool {
        let pairs = self.ids().into_iter().zip(other.ids());
        let mut pairs = pairs.filter(|(own, _)| own.is_some());
        pairs.all(|(own, other)| own == other)
    }

    /// Whether one of two scopes is the other or wider. A name in a memory means no memory of a scope that is neither.
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.has(other) || other.has(self)
    }

    /// The stated ids as front matter has them.
    pub fn to_json(&self) -> Map<String, Value> {
        let stated = KEYS.iter().zip(self.ids());
        let stated = stated.filter_map(|(key, id)| Some(((*key).to_owned(), id?.into())));
        stated.collect()
    }
}

/// The memories that a session may see: those of a scope, and with `shared` those that state none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visibility {
    /// The scope; empty for all memories.
    pub scope: Scope,
    /// Whether memories without a scope are visible too.
    pub shared: bool,
}

impl Visibility {
    /// Whether all memories are visible.
    pub fn is_whole(&self) -> bool {
        self.scope.is_empty()
    }

    /// Whether a memory that states a scope is visible.
    pub fn sees(&self, stated: &Scope) -> bool {
        self.scope.has(stated) || (self.shared && stated.is_empty())
    }
}

/// Return an id as text; None for a value that is no id. YAML reads an id of digits alone as a number.
pub fn scope_id(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if !number.is_f64() => number.to_string(),
        _ => return None,
    };
    let is_blank = crate::text::trimmed(&text).is_empty();
    (!is_blank && text.chars().count() <= LONGEST).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stated(value: Value) -> Scope {
        Scope::stated(&Map::from_iter([(SCOPE.to_owned(), value)]))
    }

    #[test]
    fn an_unreadable_scope_belongs_to_nobody() {
        let ana = stated(json!({"user": "ana"}));
        for given in [
            json!("ana"),
            json!({"User": "ana"}),
            json!({"user": ["ana"]}),
            json!({"user": " "}),
            json!({"user": "ana", "agent": 1.5}),
            json!({"user": "x".repeat(201)}),
            json!(["user"]),
        ] {
            let scope = stated(given.clone());
            assert!(scope.is_unreadable() && !scope.is_empty(), "{given}");
            assert!(!ana.has(&scope) && Scope::default().has(&scope), "{given}");
            assert_eq!(stated(scope.to_json().into()), scope, "{given}");
        }
        for blank in [json!(null), json!(" "), json!({}), json!({"user": null})] {
            assert!(stated(blank.clone()).is_empty(), "{blank}");
        }
        assert!(Scope::stated(&Map::new()).is_empty());
    }

    #[test]
    fn a_scope_has_what_states_all_of_it() {
        let ana = stated(json!({"user": "ana"}));
        let trip = stated(json!({"user": "ana", "session": 7}));
        assert!(ana.has(&trip) && !trip.has(&ana));
        assert!(Scope::default().has(&ana) && !ana.has(&Scope::default()));
        assert_eq!(
            Value::from(trip.to_json()),
            json!({"user": "ana", "session": "7"})
        );
    }
}
