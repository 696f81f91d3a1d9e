//! What tables held when the snapshot was taken, and the way back to it.
//!
//! Tables can be large and mostly alike, and there is an instance for each worker and variant. So what they hold is
//! kept once: the numbers of functions, in the order in which the tables show them first, where tables hold any. An
//! instance has only its own functions, each once.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use wasmtime::{Func, HeapType, Ref, Store, Table};

/// What the tables of any instance of a module hold when it is ready, of functions: known from the first.
pub(super) type TableImage = OnceLock<Vec<Slots>>;

/// What a table holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slots {
    /// Runs of elements that aren't null, in order: the index of the first, and each one's number.
    runs: Vec<(u64, Vec<u32>)>,
}

/// The tables of an instance.
pub(super) struct SavedTables {
    tables: Vec<Table>,
    image: Arc<TableImage>,
    /// By number.
    functions: Vec<Func>,
    /// All hold functions: others are not restored.
    restorable: bool,
}

impl SavedTables {
    /// Looks at what tables hold.
    pub(super) fn save<T: 'static>(tables: Vec<Table>, store: &mut Store<T>, image: &Arc<TableImage>) -> Self {
        let holds_functions = |table: &Table| match table.ty(&*store).element().heap_type().top() {
            HeapType::Func => true,
            _ => table.size(&*store) == 0,
        };
        let restorable = tables.iter().all(holds_functions);
        let mut saved = Self { tables, image: image.clone(), functions: Vec::new(), restorable };
        if restorable {
            let slots = saved.slots(store);
            if let Err(slots) = image.set(slots) {
                debug_assert_eq!(image.get(), Some(&slots), "instances are equal");
            }
        }
        saved
    }

    /// Goes back; `false` if there is something that is not restored.
    pub(super) fn restore<T: 'static>(&self, store: &mut Store<T>) -> Result<bool> {
        let Some(image) = self.image.get().filter(|_| self.restorable) else { return Ok(false) };
        for (table, slots) in self.tables.iter().zip(image) {
            self.fill(store, table, slots).map_err(anyhow::Error::from).context("failed to restore a table")?;
        }
        Ok(true)
    }

    fn fill<T: 'static>(&self, store: &mut Store<T>, table: &Table, slots: &Slots) -> wasmtime::Result<()> {
        let mut end = 0;
        for (first, run) in &slots.runs {
            clear(store, table, end..*first)?;
            for (index, &number) in (*first..).zip(run) {
                table.set(&mut *store, index, Ref::Func(Some(self.functions[number as usize])))?;
            }
            end = first + run.len() as u64;
        }
        clear(store, table, end..table.size(&*store))
    }

    /// By table, how many elements it has.
    pub(super) fn sizes<T: 'static>(&self, store: &Store<T>) -> impl Iterator<Item = u64> {
        self.tables.iter().map(move |table| table.size(store))
    }

    /// What the tables hold, and in `functions` who that is.
    fn slots<T: 'static>(&mut self, store: &mut Store<T>) -> Vec<Slots> {
        let mut numbers = BTreeMap::new();
        let mut all = Vec::new();
        for table in &self.tables {
            let mut runs: Vec<(u64, Vec<u32>)> = Vec::new();
            for index in 0..table.size(&*store) {
                let Some(Ref::Func(Some(function))) = table.get(&mut *store, index) else { continue };
                // The address tells functions of an instance apart.
                let number = *numbers.entry(function.to_raw(&mut *store) as usize).or_insert_with(|| {
                    self.functions.push(function);
                    self.functions.len() as u32 - 1
                });
                match runs.last_mut() {
                    Some((first, run)) if *first + run.len() as u64 == index => run.push(number),
                    _ => runs.push((index, vec![number])),
                }
            }
            runs.iter_mut().for_each(|(_, run)| run.shrink_to_fit());
            all.push(Slots { runs });
        }
        self.functions.shrink_to_fit();
        all
    }
}

/// Makes elements null.
fn clear<T: 'static>(store: &mut Store<T>, table: &Table, range: Range<u64>) -> wasmtime::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    table.fill(store, range.start, Ref::Func(None), range.end - range.start)
}
