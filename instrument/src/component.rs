//! Components: rewrites the core modules inside, and leaves all else as it is.

use std::ops::{Range, RangeFrom};

use anyhow::{Context, Result, ensure};
use wasm_encoder::{RawSection, Section as _};
use wasmparser::Validator;

use crate::instrument::instrument;
use crate::instrumented::Instrumented;
use crate::module::features::{INVALID, component_features};
use crate::module::limits::{DEPTH_MAX, MODULE_BYTES_MAX};
use crate::module::sections::{COMPONENT, CORE_MODULE, component_sections};
use crate::options::Options;

/// A component whose core modules were rewritten.
#[derive(Clone, Debug)]
pub struct InstrumentedComponent {
    /// The component. It validates with [`component_features`].
    pub wasm: Vec<u8>,
    /// Its core modules, those of nested components too, in the order in which they are in the file.
    pub modules: Vec<ComponentModule>,
}

/// A core module inside a component.
#[derive(Clone, Debug)]
pub struct ComponentModule {
    /// Where it is: numbers of components, from the outermost inwards, and at last the module's own. Each is counted
    /// among the components, or the core modules, that are defined there, in file order; imports and aliases have no
    /// number.
    pub path: Vec<u32>,
    /// The original module's place in the original component, in bytes.
    pub original: Range<usize>,
    /// The new module's place in the new component, in bytes.
    pub rewritten: Range<usize>,
    /// The new module, and what is to be known about it. Offsets are those in the module, original or new, as if it was
    /// a file of its own.
    pub module: Instrumented,
}

/// Rewrites all core modules of a component with [`instrument`].
///
/// ```wat
/// (component                                       (component
///   (import "log" (func $log (param "x" s32)))       (import "log" (func $log (param "x" s32)))
///   (core module $m ...)                             (core module $m ...)                ;; rewritten
///   (component $inside                               (component $inside
///     (core module $n ...))                            (core module $n ...))             ;; rewritten
///   (core func $lowered (canon lower (func $log)))   (core func $lowered (canon lower (func $log)))
///   (core instance $i (instantiate $m ...))          (core instance $i (instantiate $m ...))
///   ...)                                             ...)
/// ```
///
/// **Only core modules change**, and the sizes of the sections around them. All else is copied byte for byte, custom
/// sections too, and keeps its meaning: index spaces of components count modules, not what is in them; what a core
/// instance exports is named, not numbered, when it is aliased or handed to another module; and a module that exports
/// more than its type says still has that type, so modules can be imported, exported and passed on as before.
///
/// Each instance of a core module counts for itself, in a memory of its own. That memory is exported by the core
/// instance, but not by the component: wiring it out would change the component's type. So whoever reads the counters
/// needs an engine that lets him look at core instances.
///
/// # Errors
///
/// As those of [`instrument`], after the path and the offset of the module that they are about; further offsets are
/// then those in the module. Besides: the file is no component; it is invalid; or components are nested more than 100
/// deep.
pub fn instrument_component(wasm: &[u8], options: &Options) -> Result<InstrumentedComponent> {
    ensure!(wasm.len() <= MODULE_BYTES_MAX, "has {} bytes, more than the {MODULE_BYTES_MAX} allowed", wasm.len());
    let mut walk = Walk { options, path: Vec::new(), modules: Vec::new() };
    let new = walk.component(wasm, 0)?.unwrap_or_else(|| wasm.to_vec());
    if let Err(error) = Validator::new_with_features(component_features()).validate_all(&new) {
        // What was invalid before is said with its offset in the file.
        Validator::new_with_features(component_features()).validate_all(wasm).context(INVALID)?;
        return Err(error).context("is beyond what engines accept when it is rewritten");
    }
    Ok(InstrumentedComponent { wasm: new, modules: walk.modules })
}

struct Walk<'o> {
    options: &'o Options,
    /// Numbers of the components around, without the outermost.
    path: Vec<u32>,
    modules: Vec<ComponentModule>,
}

impl Walk<'_> {
    /// Rewrites a component that starts at `offset` in the file; `None` if nothing changes. New modules get their place
    /// as if the new component was a file.
    fn component(&mut self, wasm: &[u8], offset: usize) -> Result<Option<Vec<u8>>> {
        ensure!(self.path.len() < DEPTH_MAX, "has components that are nested more than {DEPTH_MAX} deep");
        let (mut modules, mut components) = (0.., 0..);
        let mut new = Vec::new();
        let mut copied = 0;
        for section in component_sections(wasm)? {
            let section = section?;
            let before = self.modules.len();
            let start = offset + section.range.start;
            let content = match section.id {
                CORE_MODULE => Some(self.inside(&mut modules, |walk| walk.module(section.bytes, start))?),
                COMPONENT => self.inside(&mut components, |walk| walk.component(section.bytes, start))?,
                _ => None,
            };
            if let Some(content) = content {
                new.extend_from_slice(&wasm[copied..section.start]);
                RawSection { id: section.id, data: &content }.append_to(&mut new);
                copied = section.range.end;
                for module in &mut self.modules[before..] {
                    let start = module.rewritten.start + new.len() - content.len();
                    module.rewritten = start..start + module.module.wasm.len();
                }
            }
        }
        if copied == 0 {
            return Ok(None);
        }
        new.extend_from_slice(&wasm[copied..]);
        Ok(Some(new))
    }

    /// Does something with the next of a component's components, or of its modules.
    fn inside<T>(&mut self, numbers: &mut RangeFrom<u32>, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.path.extend(numbers.next());
        let result = f(self);
        self.path.pop();
        result
    }

    fn module(&mut self, wasm: &[u8], start: usize) -> Result<Vec<u8>> {
        let module = instrument(wasm, self.options).with_context(|| {
            let path: Vec<_> = self.path.iter().map(u32::to_string).collect();
            format!("has core module {} at offset {start:#x}, which can't be rewritten", path.join("."))
        })?;
        let content = module.wasm.clone();
        self.modules.push(ComponentModule {
            path: self.path.clone(),
            original: start..start + wasm.len(),
            rewritten: 0..content.len(),
            module,
        });
        Ok(content)
    }
}
