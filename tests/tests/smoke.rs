//! smoke
