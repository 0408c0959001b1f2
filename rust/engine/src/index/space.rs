//! The space an index's vectors are in: their dimension, and the embedder they come from.

use rusqlite::Connection;

use super::location::Location;
use super::session::Session;
use super::settings::{self, DIMENSIONS, EMBEDDER};
use super::{Failure, Index};
use crate::error::{Error, ErrorCode, Result};

/// What all vectors of an index have in common.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// How many numbers each has; None before there was a vector.
    pub dimensions: Option<usize>,
    /// The name of what made them; None when it is not known.
    pub embedder: Option<String>,
}

impl Space {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            dimensions: settings::get(connection, DIMENSIONS)?,
            embedder: settings::get(connection, EMBEDDER)?,
        })
    }

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let dimensions = self.dimensions.map(|dimensions| dimensions.to_string());
        settings::set(connection, DIMENSIONS, dimensions.as_deref())?;
        settings::set(connection, EMBEDDER, self.embedder.as_deref())
    }

    /// Refuse a vector of another dimension. An empty one is no vector, and of any dimension.
    pub(super) fn check(&self, vector: &[f32], name: &str) -> Result<()> {
        match self.dimensions {
            Some(wanted) if !vector.is_empty() && vector.len() != wanted => Err(Error::new(
                ErrorCode::DimensionMismatch,
                format!(
                    "{name} has {} dimensions and the index has {wanted}; use the embedder that \
                     the index was made with, or embed all chunks anew",
                    vector.len()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Refuse another embedder than the one the vectors are of.
    pub(super) fn check_embedder(&self, embedder: &str, location: &Location) -> Result<()> {
        match &self.embedder {
            Some(known) if known != embedder => Err(Error::new(
                ErrorCode::EmbedderMismatch,
                format!(
                    "{location} has vectors of the embedder \"{known}\", not \"{embedder}\"; use \
                     that one, or embed all chunks anew"
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl Session<'_> {
    /// Refuse another embedder than the one the vectors of this state are of.
    pub fn check_embedder(&self, embedder: &str) -> Result<()> {
        let space = Space {
            dimensions: None,
            embedder: self.read(|connection| settings::get(connection, EMBEDDER))?,
        };
        space.check_embedder(embedder, &self.index.location)
    }
}

impl Index {
    /// What the vectors have in common by now.
    pub fn space(&self) -> Result<Space> {
        self.read(Space::read)
    }

    /// Refuse another embedder than the one the vectors are of, where that is known.
    pub fn check_embedder(&self, embedder: &str) -> Result<()> {
        self.space()?.check_embedder(embedder, &self.location)
    }

    /// Take vectors in before they are stored: the first fixes the dimension and the embedder,
    /// and what is not of them is refused. `name` puts the place of a vector into words.
    pub(super) fn admit<'v>(
        &self,
        connection: &Connection,
        vectors: impl Iterator<Item = Option<&'v [f32]>>,
        embedder: Option<&str>,
        name: impl Fn(usize) -> String,
    ) -> std::result::Result<(), Failure> {
        let known = Space::read(connection)?;
        let mut space = known.clone();
        if let Some(embedder) = embedder {
            known.check_embedder(embedder, &self.location)?;
        }
        for (place, vector) in vectors.enumerate() {
            let Some(vector) = vector.filter(|vector| !vector.is_empty()) else {
                continue;
            };
            if space.dimensions != Some(vector.len()) {
                space.check(vector, &name(place))?;
                space.dimensions = Some(vector.len());
            }
            if space.embedder.is_none() {
                space.embedder = embedder.map(ToOwned::to_owned);
            }
        }
        if space != known {
            space.write(connection)?;
        }
        Ok(())
    }

    /// Have vectors of this dimension only: an index that has none yet is given it, and one of
    /// another dimension is refused.
    pub fn expect_dimensions(&self, dimensions: usize) -> Result<()> {
        let space = self.space()?;
        if space.dimensions.is_none() && !self.read_only {
            return self.try_write(|connection| {
                // Another process may have been first.
                let mut space = Space::read(connection)?;
                self.agree(&space, dimensions)?;
                space.dimensions = Some(dimensions);
                Ok::<_, Failure>(space.write(connection)?)
            });
        }
        self.agree(&space, dimensions)
    }

    fn agree(&self, space: &Space, dimensions: usize) -> Result<()> {
        match space.dimensions {
            Some(known) if known != dimensions => Err(Error::new(
                ErrorCode::DimensionMismatch,
                format!(
                    "{} has vectors of {known} dimensions, not {dimensions}; leave the dimensions \
                     out, or embed all chunks anew",
                    self.location
                ),
            )),
            _ => Ok(()),
        }
    }
}
