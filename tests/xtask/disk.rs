//! Folders, and a disk that is soon full.

use std::io;
use std::path::Path;
use std::process::Command;

/// A file system of 512 KiB in memory; unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts it, for the test named `test`. `None` where mounting is not permitted, which is said on standard error.
    ///
    /// # Panics
    ///
    /// If no temporary directory can be made.
    pub fn mount(test: &str) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"]).arg(dir.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        // Past the test harness, which shows nothing of tests that pass.
        let notice = format!("SKIPPED {test}: mounting is not permitted\n");
        std::io::Write::write_all(&mut std::io::stderr(), notice.as_bytes()).expect("standard error is open");
        None
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// From now on nothing can be written there.
    ///
    /// # Panics
    ///
    /// If that is not permitted.
    pub fn read_only(&self) {
        let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(self.0.path()).output();
        assert!(remount.is_ok_and(|output| output.status.success()), "who may mount may do that");
    }

    /// Takes all space but `pages` pages of 4 KiB.
    ///
    /// # Panics
    ///
    /// If the file that takes it can't be made.
    pub fn fill(&self, pages: u64) {
        let mut filler = std::fs::File::create(self.filler()).expect("a new file");
        while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
        let length = filler.metadata().expect("an open file").len();
        assert!(length >= pages * 4096, "the disk holds {length} bytes");
        filler.set_len(length - pages * 4096).expect("a file can shrink");
    }

    /// Gives back what [`SmallDisk::fill`] took, before it returns.
    ///
    /// # Panics
    ///
    /// If nothing was taken.
    pub fn free(&self) {
        // What another thread of the test has just forked holds the open file, and with it its pages, until it executes
        // its program: removing the name alone would leave the disk full for so long.
        let filler = std::fs::OpenOptions::new().write(true).open(self.filler()).expect("the disk was filled");
        filler.set_len(0).expect("a file can shrink");
        std::fs::remove_file(self.filler()).expect("a file can be removed");
    }

    fn filler(&self) -> std::path::PathBuf {
        self.0.path().join("filler")
    }
}

/// Copies what is in a folder, and in the folders in it, into another.
///
/// # Errors
///
/// If something can't be read or written; also if `to` isn't there.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir_all(&to)?;
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).output());
    }
}
