//! The space an index's vectors are in: their dimension, and the embedder they come from.

use rusqlite::Connection;

use crate::storage::Location;
use crate::storage::settings::{self, DIMENSIONS, EMBEDDER, EMBEDDER_DETAILS};

use crate::error::{Error, ErrorCode, Result};

/// What makes vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedder<'a> {
    /// What stands for it: vectors of equal names may be compared.
    pub name: &'a str,
    /// How it is asked, in the words of whoever asks it; kept in the file for later readers.
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

/// What all vectors of an index have in common.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// How many numbers each has; None before there was a vector.
    pub dimensions: Option<usize>,
    /// The name of what made them; None when it is not known.
    pub embedder: Option<String>,
    /// How that was asked for them; None when it is not known.
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

    /// Reject a vector with other dimensions. `name` stands for the vector in the message. An empty vector
    /// passes.
    pub fn check(&self, vector: &[f32], name: &str) -> Result<()> {
        match self.dimensions {
            Some(wanted) if !vector.is_empty() && vector.len() != wanted => Err(Error::new(
                ErrorCode::DimensionMismatch,
                format!(
                    "{name} has {} dimensions and the index has {wanted}; use the embedder that \
                     the index was made with, or embed all chunks again (hedgerow index --reembed)",
                    vector.len()
                ),
            )),
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
                     that one, or embed all chunks again (hedgerow index --reembed)"
                ),
            )),
            _ => Ok(()),
        }
    }
}
