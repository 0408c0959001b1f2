//! The space an index's vectors are in: their dimension, and the embedder they come from.

use rusqlite::Connection;

use crate::storage::Location;
use crate::storage::settings::{self, DIMENSIONS, EMBEDDER, EMBEDDER_DETAILS};

use crate::error::{Error, ErrorCode, Fix, Result};

/// The maker of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedder<'a> {
    /// The name of the model: vectors of equal names may be compared.
    pub name: &'a str,
    /// The configuration of the embedder, in the words of its caller; stored in the file for later
    /// readers.
    pub details: Option<&'a str>,
}

impl<'a> From<&'a str> for Embedder<'a> {
    fn from(name: &'a str) -> Self {
        Self {
            name,
            details: None,
        }
    }
}

/// The properties that all vectors of an index share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// The dimensions of each vector. None before the first vector.
    pub dimensions: Option<usize>,
    /// The name of the embedder that made the vectors. None if it is unknown.
    pub embedder: Option<String>,
    /// The configuration of that embedder. None if it is unknown.
    pub details: Option<String>,
}

impl Space {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            dimensions: settings::get(connection, DIMENSIONS)?,
            embedder: settings::get(connection, EMBEDDER)?,
            details: settings::get(connection, EMBEDDER_DETAILS)?,
        })
    }

    pub(crate) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let dimensions = self.dimensions.map(|dimensions| dimensions.to_string());
        settings::set(connection, DIMENSIONS, dimensions.as_deref())?;
        settings::set(connection, EMBEDDER, self.embedder.as_deref())?;
        settings::set(connection, EMBEDDER_DETAILS, self.details.as_deref())
    }

    /// Reject a vector with other dimensions. `name` is its name in the message. An empty vector passes.
    pub fn check(&self, vector: &[f32], name: &str) -> Result<()> {
        match self.dimensions {
            Some(wanted) if !vector.is_empty() && vector.len() != wanted => Err(Error::new(
                ErrorCode::DimensionMismatch,
                format!(
                    "{name} has {} dimensions and the index has {wanted}; use the embedder that \
                     the index was made with",
                    vector.len()
                ),
            )
            .with_fix(Fix::reembed())),
            _ => Ok(()),
        }
    }

    /// Refuse another embedder than the one the vectors are of.
    pub(crate) fn check_embedder(&self, embedder: &str, location: &Location) -> Result<()> {
        match &self.embedder {
            Some(known) if known != embedder => Err(Error::new(
                ErrorCode::EmbedderMismatch,
                format!(
                    "{location} has vectors of the embedder \"{known}\", not \"{embedder}\"; use \
                     that one"
                ),
            )
            .with_fix(Fix::reembed())),
            _ => Ok(()),
        }
    }
}
