//! Running `search` and `rank`: both legs, fused by their ranks alone.

use super::ast::Search;
use super::outcome::{Leg, Ranked};
use super::run::PipelineRun;
use crate::graph::ranking::{SlotScore, sort};
use hedgerow_engine::chunks::Filters;
use hedgerow_engine::error::Result;
use hedgerow_engine::index::session::Session;
use hedgerow_engine::interrupt::CancelTicker;
use hedgerow_engine::query::{Connective, Matching};
use hedgerow_engine::retrieval::fuse::{DEFAULT_K, contribution};
use hedgerow_engine::retrieval::{Embedding, Fusion, Mode, Request, Reranker, Setup, search_in};

impl PipelineRun<'_> {
    /// Return the best nodes of a hybrid search, within `among` if given, and the number of hits.
    pub fn searched(
        &mut self,
        wanted: &Search,
        among: Option<&[SlotScore]>,
    ) -> Result<(Vec<SlotScore>, usize)> {
        let nodes = &self.snapshot.nodes;
        let among = among.map(|among| {
            let mut slots: Vec<u32> = among.iter().map(|(slot, _)| *slot).collect();
            slots.sort_unstable();
            slots
        });
        let legs = match self.legs() {
            Some(legs) => {
                let found = given(legs, wanted);
                self.warn_of_missing(wanted.mode, found.len());
                found
            }
            None => vec![self.found(wanted, among.as_deref())?],
        };
        let mut fused: Vec<SlotScore> = Vec::new();
        let mut pace = CancelTicker::default();
        for leg in legs {
            let mut slots: Vec<u32> = Vec::with_capacity(leg.len());
            let mut seen = std::collections::HashSet::with_capacity(leg.len());
            for slot in leg.iter().filter_map(|key| nodes.find(key)) {
                pace.step(1)?;
                let wanted = among
                    .as_ref()
                    .is_none_or(|among| among.binary_search(&slot).is_ok());
                if wanted && seen.insert(slot) {
                    slots.push(slot);
                }
            }
            let mut rank = 0.0;
            for slot in slots {
                fused.push((slot, contribution(DEFAULT_K, rank)));
                rank += 1.0;
            }
        }
        // Each node once, with the sum of its contributions.
        fused.sort_by_key(|(slot, _)| *slot);
        fused.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        let candidates = fused.len();
        sort(nodes, &mut fused)?;
        fused.truncate(wanted.limit);
        Ok((fused, candidates))
    }

    /// Warn of a leg that the mode names and the caller does not have. `auto` takes the legs there
    /// are.
    fn warn_of_missing(&mut self, mode: Mode, found: usize) {
        let what = match (mode, found) {
            (Mode::Hybrid, 1) => {
                "mode=hybrid has no ranking by meaning and searches by words alone"
            }
            (Mode::Semantic, 0) => "mode=semantic has no ranking by meaning and finds nothing",
            _ => return,
        };
        self.warn(format!("search: {what}"));
    }

    /// Return the results of the store's own leg: keywords alone, because a store has no embedder.
    fn found(&mut self, wanted: &Search, among: Option<&[u32]>) -> Result<Vec<String>> {
        let mode = wanted.mode;
        if mode == Mode::Semantic {
            let what = "search: mode=semantic finds nothing without an embedder; give legs";
            self.warn(what.to_owned());
            return Ok(Vec::new());
        }
        if mode != Mode::Bm25 {
            let what = format!(
                "search: mode={} has no embedder and searches by words alone",
                mode.as_str()
            );
            self.warn(what);
        }
        let nodes = &self.snapshot.nodes;
        if nodes.order.is_empty() || among.is_some_and(<[u32]>::is_empty) {
            return Ok(Vec::new());
        }
        let session = self.session()?;
        let filters = Filters {
            paths: self.paths(session, among)?,
            ..Filters::default()
        };
        let setup = Setup {
            collection: &**self.store.index(),
            aliases: None,
            default_operator: Connective::Or,
            matching: Matching::Extended,
            fusion: Fusion::Rrf,
            neighbors: false,
            speakers: false,
            dates: false,
            reweight: true,
            fuzzy: self.store.fuzzy(),
            embedder: None,
        };
        let request = Request {
            query: &wanted.query,
            augmented: None,
            date_hints: &[],
            asker: None,
            today: None,
            recency: None,
            mode: Mode::Bm25,
            embedding: Embedding::Absent,
            candidate_k: wanted.limit.min(nodes.order.len()),
            wanted: usize::MAX,
            reranker: Reranker::Off,
            skip_retry_ladder: false,
            filters: &filters,
            group_by: None,
        };
        let Some(found) = search_in(session, &setup, &request)? else {
            self.lacks_slugs = true;
            return Ok(Vec::new());
        };
        if let Some(error) = found.error.filter(|_| found.failed) {
            return Err(error);
        }
        // The order is that of the keyword leg, whatever the intent of the query makes of it.
        let mut hits = found.hits;
        hits.sort_by_key(|found| found.hit.bm25_rank);
        Ok(hits.into_iter().map(|found| found.hit.id.clone()).collect())
    }

    /// The paths that a search is limited to; none if it may find any chunk.
    fn paths(&self, session: &Session<'_>, among: Option<&[u32]>) -> Result<Vec<String>> {
        let nodes = &self.snapshot.nodes;
        let key = |slot: &u32| nodes.key(*slot).to_owned();
        Ok(match among {
            Some(among) if among.len() < nodes.order.len() => among.iter().map(key).collect(),
            // The index may also have chunks that are not nodes.
            _ if session.chunk_count()? != nodes.order.len() as u64 => {
                nodes.order.iter().map(key).collect()
            }
            _ => Vec::new(),
        })
    }
}

/// Return the results of the caller's legs for a search, a list for each leg.
fn given(legs: &[Ranked], wanted: &Search) -> Vec<Vec<String>> {
    let ranked = |leg: &Leg| {
        let mut found = legs
            .iter()
            .filter(|(query, known, _)| *query == wanted.query && known == leg);
        found.next().map(|(_, _, keys)| keys.clone())
    };
    Leg::of(wanted.mode).iter().filter_map(ranked).collect()
}
