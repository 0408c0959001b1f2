//! Scopes: whose memories these are (spec/memory.md, "Scopes").

use serde_json::{Map, Value};

/// The field of front matter and the fact that state a scope.
pub const SCOPE: &str = "scope";

/// The most characters of an id.
const LONGEST: usize = 200;
const KEYS: [&str; 3] = ["user", "agent", "session"];

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

    /// The scope that front matter or a fact states; a value that cannot be read counts as no scope.
    pub fn stated(metadata: &Map<String, Value>) -> Self {
        let given = metadata.get(SCOPE).and_then(Value::as_object);
        Self::new(KEYS.map(|key| id(given?.get(key)?)))
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

    /// The stated ids as front matter has them.
    pub fn to_json(&self) -> Map<String, Value> {
        let stated = KEYS.iter().zip(self.ids());
        let stated = stated.filter_map(|(key, id)| Some(((*key).to_owned(), id?.into())));
        stated.collect()
    }
}

/// Return an id as text; None for a value that is no id. YAML reads an id of digits alone as a number.
pub fn id(value: &Value) -> Option<String> {
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
    fn what_cannot_be_read_is_no_scope() {
        for given in [
            json!("ana"),
            json!({"user": " "}),
            json!({"user": true, "agent": 1.5}),
            json!({"user": "x".repeat(201)}),
            json!(["user"]),
        ] {
            assert!(stated(given.clone()).is_empty(), "{given}");
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
