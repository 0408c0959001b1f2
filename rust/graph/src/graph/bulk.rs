//! Bulk writes of edges and visits in one transaction. Errors name the position of the item.

use std::collections::HashSet;

use super::store::Store;
use super::write::{EdgeInput, VisitInput, check_edge, id_of, ids_of, note_visit, relink_in};
use hedgerow_engine::error::Result;
use hedgerow_engine::storage::WorkError;

impl Store {
    /// Join many nodes as `link` does; returns the number of distinct edges.
    ///
    /// An error names the position of its edge (`edges[3]: …`), and then none is stored.
    pub fn link_many(&self, edges: &[EdgeInput]) -> Result<usize> {
        for (position, edge) in edges.iter().enumerate() {
            check_edge(edge).map_err(|error| error.at(&format!("edges[{position}]")))?;
        }
        if edges.is_empty() {
            return Ok(0);
        }
        self.index.database().try_write(|connection| {
            for (position, edge) in edges.iter().enumerate() {
                ids_of(connection, edge).map_err(|failure| at(failure, "edges", position))?;
            }
            relink_in(connection, &[], edges)
        })?;
        let distinct: HashSet<(&str, &str, &str)> = edges
            .iter()
            .map(|edge| {
                (
                    edge.source.as_str(),
                    edge.target.as_str(),
                    edge.relation.as_str(),
                )
            })
            .collect();
        Ok(distinct.len())
    }

    /// Record many visits, like `visit`; return their number.
    ///
    /// An error names the position of the visit (`visits[3]: …`), and then none is recorded.
    pub fn visit_many(&self, visits: &[VisitInput]) -> Result<usize> {
        if visits.is_empty() {
            return Ok(0);
        }
        self.index.database().try_write(|connection| {
            for (position, visit) in visits.iter().enumerate() {
                let id = id_of(connection, &visit.key)
                    .map_err(|failure| at(failure, "visits", position))?;
                note_visit(connection, id, visit, None)?;
            }
            Ok(visits.len())
        })
    }
}

/// Return the failure with the position of the item before the message of an error of ours.
fn at(failure: WorkError, list: &str, position: usize) -> WorkError {
    match failure {
        WorkError::Refused(error) => WorkError::Refused(error.at(&format!("{list}[{position}]"))),
        failure => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Node, Outcome};

    fn node(key: &str) -> Node {
        Node {
            key: key.to_owned(),
            ..Node::default()
        }
    }

    fn edge(source: &str, target: &str, strength: f64) -> EdgeInput {
        EdgeInput {
            source: source.to_owned(),
            target: target.to_owned(),
            relation: "link".to_owned(),
            strength,
        }
    }

    fn visit(key: &str) -> VisitInput {
        VisitInput {
            agent: "agent".to_owned(),
            key: key.to_owned(),
            at: 1,
            outcome: Outcome::default(),
        }
    }

    fn store() -> Store {
        let store = Store::in_memory().unwrap();
        let nodes = ["b", "é", "a", "c"].map(node);
        store.upsert(&nodes.each_ref(), 7).unwrap();
        store
    }

    #[test]
    fn nodes_are_counted_and_listed_by_key_without_deleted_ones() {
        let store = store();
        store.delete(&["c"]).unwrap();
        assert_eq!(
            (store.len().unwrap(), store.is_empty().unwrap()),
            (3, false)
        );
        let nodes = store.nodes().unwrap();
        let keys: Vec<&str> = nodes.iter().map(|node| node.key.as_str()).collect();
        assert_eq!(keys, ["a", "b", "é"]);
        assert_eq!(Some(&nodes[1]), store.get("b").unwrap().as_ref());
        assert!(Store::in_memory().unwrap().is_empty().unwrap());
    }

    #[test]
    fn edges_are_all_stored_or_none_and_errors_name_the_position() {
        let store = store();
        let edges = [
            edge("a", "b", 0.5),
            edge("b", "c", 1.0),
            edge("a", "b", 0.7),
        ];
        assert_eq!(store.link_many(&edges).unwrap(), 2);
        assert_eq!(
            store.edges().unwrap(),
            [edge("a", "b", 0.7), edge("b", "c", 1.0)]
        );
        let error = store.link_many(&[edge("a", "c", 1.0), edge("a", "nobody", 1.0)]);
        assert_eq!(
            error.unwrap_err().message(),
            "edges[1]: there is no node \"nobody\"; upsert it first"
        );
        let error = store.link_many(&[edge("a", "c", 1.0), edge("a", "b", 1.5)]);
        assert_eq!(
            error.unwrap_err().message(),
            "edges[1]: the strength must be above 0 and at most 1, not 1.5"
        );
        assert_eq!(store.edges().unwrap().len(), 2);
        assert_eq!(store.link_many(&[]).unwrap(), 0);
    }

    #[test]
    fn visits_are_all_noted_or_none_and_errors_name_the_position() {
        let store = store();
        assert_eq!(store.visit_many(&[visit("a"), visit("a")]).unwrap(), 2);
        let error = store.visit_many(&[visit("b"), visit("nobody")]);
        assert_eq!(
            error.unwrap_err().message(),
            "visits[1]: there is no node \"nobody\"; upsert it first"
        );
        let count = "SELECT count(*) FROM visits";
        let visits: Result<i64> = store
            .index()
            .database()
            .read(|connection| connection.query_row(count, [], |row| row.get(0)));
        assert_eq!(visits.unwrap(), 2);
        assert_eq!(store.visit_many(&[]).unwrap(), 0);
    }
}
