//! The center of an index's vectors, kept in the file so that all who read it round them in the same
//! way.

use rusqlite::Connection;

use crate::storage::settings::{self, CENTER};
use crate::unit_vector::read_blob;

/// The number of vectors from which a center is computed: the mean of the first ones by row. The center
/// stays, since it need not be exact, and a new one would mean to round all vectors again.
pub(super) const CENTERED: usize = 1024;

/// The stored text of the center.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<Option<String>> {
    settings::get(connection, CENTER)
}

/// The numbers of a stored center; none if it is malformed or of another dimension.
pub(super) fn numbers(center: Option<&str>, dimensions: usize) -> Vec<f32> {
    let words = center.unwrap_or_default().split(' ');
    let numbers = words.map(|word| u32::from_str_radix(word, 16).ok().map(f32::from_bits));
    let numbers: Option<Vec<f32>> = numbers.collect();
    let sound =
        |numbers: &Vec<f32>| numbers.len() == dimensions && numbers.iter().all(|x| x.abs() <= 1.0);
    numbers.filter(sound).unwrap_or_default()
}

/// Store the center if there is none and there are enough vectors; to be called in the transaction
/// that wrote vectors, after them.
pub(crate) fn settle(connection: &Connection) -> rusqlite::Result<()> {
    // The largest row costs one step of the index. A small one means that there are few rows.
    let largest: Option<i64> = connection
        .prepare_cached("SELECT max(row) FROM embeddings")?
        .query_row([], |row| row.get(0))?;
    let many = largest.is_some_and(|row| usize::try_from(row).is_ok_and(|row| row >= CENTERED));
    if !many || read(connection)?.is_some() {
        return Ok(());
    }
    let sql = "SELECT vector FROM embeddings WHERE length(vector) > 1 ORDER BY row LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([CENTERED])?;
    let (mut sums, mut count) = (Vec::new(), 0_usize);
    let mut vector = Vec::new();
    while let Some(found) = found.next()? {
        vector.clear();
        if read_blob(found.get_ref(0)?.as_blob()?, &mut vector) {
            sums.resize(vector.len(), 0.0_f64);
            for (sum, x) in sums.iter_mut().zip(&vector) {
                *sum += f64::from(*x);
            }
            count += 1;
        }
    }
    if count < CENTERED {
        return Ok(());
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a center need not be exact"
    )]
    let words = sums.iter().map(|sum| {
        let mean = (sum / CENTERED as f64) as f32;
        format!("{:08x}", mean.to_bits())
    });
    let words: Vec<String> = words.collect();
    settings::set(connection, CENTER, Some(&words.join(" ")))
}
