//! Making the segment of all chunks from FTS5's index, on all cores.
//!
//! The caller's thread reads terms in batches and appends the results of the other threads, in
//! order. The segment therefore does not depend on the number of threads, and few results wait in
//! between.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use rusqlite::Connection;

use super::load_error::{LoadError, NotLoadable};
use super::segment::{Builder, Segment};
use super::stored;
use super::term_batch::{Batches, TermBatch};
use crate::chunks::FullText;
use crate::interrupt;
use crate::sync::parallelism;
use crate::text::tokenizer::TokenizerKind;

/// The most threads that decode.
pub(super) const MAX_THREADS: usize = 8;
/// Approximate bytes of FTS5's index decoded together.
const BATCH_BYTES: usize = 1 << 19;

/// All chunks, from what FTS5 stored of them. Its lengths of chunks and its positions of terms must
/// agree, or else the file is damaged.
pub(super) fn from_stored(connection: &Connection) -> Result<Segment, LoadError> {
    let tokenizer = FullText::read(connection)?.tokenizer;
    let threads = match parallelism() {
        1 => 0, // this one decodes, too
        processors => processors.min(MAX_THREADS),
    };
    load(connection, tokenizer, threads, BATCH_BYTES)
}

fn load(
    connection: &Connection,
    tokenizer: TokenizerKind,
    threads: usize,
    batch_bytes: usize,
) -> Result<Segment, LoadError> {
    let totals = stored::totals(connection)?;
    let (rows, lengths) = stored::lengths(connection)?;
    let tokens: u64 = lengths.iter().copied().map(u64::from).sum();
    if (rows.len() as u64, tokens) != (totals.rows, totals.tokens) {
        return Err(NotLoadable::Damaged.into());
    }
    let mut builder = Builder::new(rows.len(), tokenizer);
    builder.reserve(tokens)?;
    let mut batches = Batches::new(connection, batch_bytes)?;
    let (tasks, waiting) = channel();
    let waiting = Mutex::new(waiting);
    let (answers, answered) = channel();
    thread::scope(|scope| {
        let work = || {
            let answers = answers.clone();
            let decoder = Decoder::new(&rows, tokenizer);
            let waiting = &waiting;
            move || decoder.run(waiting, &answers)
        };
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work());
        // Where the system refuses threads, this one decodes.
        let helpers: Vec<_> = (1..=threads)
            .map_while(|number| spawn(number).ok())
            .collect();
        // Now that only helpers have it, nobody waits for answers once they are all gone.
        drop(answers);
        let mut pipeline = Pipeline {
            tasks,
            answered,
            most: 2 * helpers.len() + 1,
            decoder: helpers.is_empty().then(|| Decoder::new(&rows, tokenizer)),
            sent: 0,
            appended: 0,
            early: BTreeMap::new(),
        };
        while let Some(batch) = batches.next()? {
            interrupt::check_reading()?;
            pipeline.put(batch, &mut builder)?;
        }
        pipeline.finish(helpers, &mut builder)
    })?;
    Ok(builder.finish(rows, lengths)?)
}

/// The segment that a thread made of a batch, or its failure.
type Answer = thread::Result<Result<Segment, NotLoadable>>;

/// Batches on their way through the helpers.
struct Pipeline<'r> {
    tasks: Sender<(usize, TermBatch)>,
    answered: Receiver<(usize, Answer)>,
    /// At most this many batches are under way.
    most: usize,
    /// Decodes if no helper could be started.
    decoder: Option<Decoder<'r>>,
    sent: usize,
    appended: usize,
    /// Segments that were finished before earlier ones.
    early: BTreeMap<usize, Segment>,
}

impl Pipeline<'_> {
    fn put(&mut self, batch: TermBatch, builder: &mut Builder) -> Result<(), NotLoadable> {
        if let Some(decoder) = &mut self.decoder {
            return builder.append(&decoder.piece(&batch)?);
        }
        // Fails only when all helpers are gone, and then waiting fails too.
        let _ = self.tasks.send((self.sent, batch));
        self.sent += 1;
        while self.sent - self.appended > self.most {
            self.take(builder)?;
        }
        Ok(())
    }

    /// Wait for one answer, and append the next segment.
    fn take(&mut self, builder: &mut Builder) -> Result<(), NotLoadable> {
        let Ok((number, answer)) = self.answered.recv() else {
            return Err(NotLoadable::Damaged);
        };
        let piece = answer.unwrap_or_else(|panic| resume_unwind(panic))?;
        self.early.insert(number, piece);
        while let Some(piece) = self.early.remove(&self.appended) {
            builder.append(&piece)?;
            self.appended += 1;
        }
        Ok(())
    }

    /// Wait for running work, and for the counts of the helpers.
    fn finish(
        mut self,
        helpers: Vec<ScopedJoinHandle<'_, Vec<u32>>>,
        builder: &mut Builder,
    ) -> Result<(), LoadError> {
        while self.appended < self.sent {
            self.take(builder)?;
        }
        // Without it they wait for more.
        drop(self.tasks);
        for helper in helpers {
            let counted = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            builder.count(&counted);
        }
        if let Some(decoder) = self.decoder {
            builder.count(decoder.builder.counted());
        }
        Ok(())
    }
}

/// Makes segments without chunks of batches, one after the other.
struct Decoder<'r> {
    rows: &'r [i64],
    builder: Builder,
}

impl<'r> Decoder<'r> {
    fn new(rows: &'r [i64], tokenizer: TokenizerKind) -> Self {
        Self {
            rows,
            builder: Builder::new(rows.len(), tokenizer),
        }
    }

    fn piece(&mut self, batch: &TermBatch) -> Result<Segment, NotLoadable> {
        batch.decode(self.rows, &mut self.builder)?;
        self.builder.take()
    }

    /// Decode until the end; return the number of tokens of each chunk.
    fn run(
        mut self,
        waiting: &Mutex<Receiver<(usize, TermBatch)>>,
        answers: &Sender<(usize, Answer)>,
    ) -> Vec<u32> {
        let next = || {
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.recv().ok()
        };
        while let Some((number, batch)) = next() {
            let piece = catch_unwind(AssertUnwindSafe(|| self.piece(&batch)));
            if answers.send((number, piece)).is_err() {
                break;
            }
        }
        self.builder.counted().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm25::build;
    use crate::bm25::tests::differential::many;
    use crate::chunks::Chunk;
    use crate::index::Index;

    fn written(index: &Index, chunks: &[Chunk]) {
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    }

    #[test]
    fn segments_are_the_same_however_they_are_made() {
        for tokenizer in [TokenizerKind::Porter, TokenizerKind::Words] {
            segments_are_the_same(tokenizer);
        }
    }

    fn segments_are_the_same(tokenizer: TokenizerKind) {
        let index = Index::in_memory(tokenizer).unwrap();
        for round in 0..6 {
            // Several runs, which overwrite each other in part.
            written(&index, &many(round * 300..round * 300 + 500, round));
            let ids = (round * 290..round * 290 + 20).map(|id| id.to_string());
            index.delete(&ids.collect::<Vec<_>>()).unwrap();
        }
        // Words that are in one chunk alone, and a position list of more than a page.
        let mut long = many(5_000..5_200, 7);
        for (chunk, number) in long.iter_mut().zip(0..) {
            chunk.title = format!("word{number}");
        }
        long[3].content.push_str(&" oak".repeat(9_000));
        written(&index, &long);
        let compare = || {
            index.database().read(|connection| {
                let rows: Vec<i64> = connection
                    .prepare("SELECT row FROM knowledge_chunks ORDER BY row")?
                    .query_map([], |row| row.get(0))?
                    .collect::<rusqlite::Result<_>>()?;
                let expected = build::from_texts(connection, tokenizer, rows);
                let expected = expected.unwrap();
                for threads in [0, 1, 2, 3, 8] {
                    for batch_bytes in [1, 100, 5_000, BATCH_BYTES] {
                        let loaded = load(connection, tokenizer, threads, batch_bytes).unwrap();
                        assert!(loaded == expected, "{threads} {batch_bytes}");
                    }
                }
                Ok(())
            })
        };
        compare().unwrap();
        index.optimize().unwrap();
        compare().unwrap();
    }

    #[test]
    fn it_stops_when_nobody_waits() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        written(&index, &many(0..500, 1));
        let stopped = index.database().read(|connection| {
            Ok(interrupt::with_cancellation(
                || true,
                || load(connection, TokenizerKind::Porter, 2, 100),
            ))
        });
        let failure = format!("{:?}", stopped.unwrap().err());
        assert!(failure.contains("OperationInterrupted"), "{failure}");
    }

    #[test]
    fn terms_out_of_order_are_refused() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunk = Chunk {
            id: "1".to_owned(),
            content: "ash elm".to_owned(),
            ..Chunk::default()
        };
        written(&index, &[chunk]);
        let load = || {
            let loaded = index.database().read(|connection| {
                let failure = load(connection, TokenizerKind::Porter, 1, 1_000).err();
                Ok(failure.map(|failure| format!("{failure:?}")))
            });
            loaded.unwrap()
        };
        assert_eq!(load(), None);
        // As many words as before, in another order.
        let damage = "UPDATE knowledge_fts_data
            SET block = unhex(replace(hex(block), hex('elm'), hex('aaa'))) WHERE id > 10";
        index
            .database()
            .write(|connection| connection.execute_batch(damage))
            .unwrap();
        assert_eq!(load().as_deref(), Some("NotLoadable(Damaged)"));
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_any_thread() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        written(&index, &many(0..500, 1));
        // An equal sum, of other chunks.
        let damage = "UPDATE knowledge_fts_docsize AS one SET sz =
            (SELECT sz FROM knowledge_fts_docsize AS other WHERE other.id = 201 - one.id)
            WHERE id <= 200";
        index
            .database()
            .write(|connection| connection.execute_batch(damage))
            .unwrap();
        index
            .database()
            .read(|connection| {
                for threads in [0, 1, 3] {
                    let loaded = load(connection, TokenizerKind::Porter, threads, 1_000);
                    let failure = format!("{:?}", loaded.err());
                    assert_eq!(failure, "Some(NotLoadable(Damaged))");
                }
                Ok(())
            })
            .unwrap();
    }
}
