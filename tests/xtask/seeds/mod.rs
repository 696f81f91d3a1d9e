//! Ten valid documents for each of the outside guests: what a user of that program might really feed it.
//!
//! They say how far a guest can be driven, and a search that starts from nothing is held against that. JSON and XML
//! lie in `tests/guests/<name>/seeds`; configurations of whole chips are too large for that and are computed.

mod icepack;

use crate::{cache, workspace};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::PathBuf;

/// A name fit for a file, and the content.
pub type Document = (String, Vec<u8>);

/// How many documents each guest has.
pub const DOCUMENTS: usize = 10;

/// Gives a guest's documents, sorted by name.
pub fn documents(guest: &str) -> Result<Vec<Document>> {
    match guest {
        "cjson" | "expat" => read(guest),
        "icepack" => Ok(icepack::documents()),
        _ => bail!("no documents for guest `{guest}`; there are some for cjson, expat, icepack"),
    }
}

/// Writes a guest's documents into a folder of the cache, `target/guests/seeds/<guest>`, and gives its path.
pub fn folder(guest: &str) -> Result<PathBuf> {
    let folder = cache().join("seeds").join(guest);
    fs::create_dir_all(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
    for (name, content) in documents(guest)? {
        crate::guests::write_whole(&folder.join(name), &content)?;
    }
    Ok(folder)
}

fn read(guest: &str) -> Result<Vec<Document>> {
    let folder = workspace().join("tests/guests").join(guest).join("seeds");
    let mut documents = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("failed to read `{}`", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a document whose name is not UTF-8")?;
        documents.push((name, fs::read(entry.path())?));
    }
    documents.sort();
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outside_guest_has_ten_documents_all_different() {
        for guest in crate::guests::OUTSIDE {
            let documents = documents(guest).unwrap();
            assert_eq!(documents.len(), DOCUMENTS, "{guest}");
            let mut contents: Vec<_> = documents.into_iter().map(|(_, content)| content).collect();
            contents.sort();
            contents.dedup();
            assert_eq!(contents.len(), DOCUMENTS, "{guest}");
        }
    }
}
