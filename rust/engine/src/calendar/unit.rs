//! The units of the calendar.

use serde::{Deserialize, Serialize};

use crate::named_enum;

named_enum! {
    /// A unit of the calendar.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Unit {
        /// A day.
        Day = "day",
        /// From Monday to Sunday.
        Week = "week",
        /// A month.
        Month = "month",
        /// A year.
        Year = "year",
    }
}
