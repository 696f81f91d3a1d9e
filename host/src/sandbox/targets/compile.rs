//! From a candidate to a target: rewritten, compiled, linked. Nothing is executed.

use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::cache::CodeCache;
use crate::sandbox::code::compiled::CompiledModule;
use crate::sandbox::code::compiler::Code;
use crate::sandbox::code::history::History;
use crate::sandbox::code::variant::Variant;
use crate::sandbox::imports::link::link;
use crate::sandbox::interrupt::stop::Stop;
use crate::sandbox::limits::has_room_for_annex;
use crate::sandbox::machine::registers::HANDLED;
use crate::sandbox::targets::groups::Groups;
use crate::sandbox::targets::instance_facts::InstanceFacts;
use crate::sandbox::targets::{OptimisedTargets, Target};
use anyhow::Result;
use std::collections::BTreeSet;

impl Target {
    /// Rewrites and compiles a module, unless its code is in the cache; executes nothing. If optimised code is in the
    /// cache, it has that. If `functions` are given, others that have counters are left out.
    pub(in crate::sandbox) fn compile(
        candidate: Candidate,
        (variant, past): (Variant, &History),
        (cache, code): (&CodeCache, Code),
        functions: Option<BTreeSet<u32>>,
    ) -> Result<Self> {
        let Candidate { source, settings, entry, interface, missing, .. } = &candidate;
        let mut options = variant.options(past, settings);
        // Who takes no bytes needs an annex only for what is told with it, which addresses are compared with. What the
        // host does for components knows of none.
        let can_have_annex = source.component.is_none() && has_room_for_annex(settings.memory_bytes_max);
        options.bounds &= entry.takes_bytes() || can_have_annex;
        options.annex = interface.memory.filter(|_| entry.takes_bytes() || options.bounds);
        let mut rewritten = fuzzbox_instrument::instrument(&source.module, &options)?;
        let mut wasm = std::mem::take(&mut rewritten.wasm);
        if let Some(functions) = &functions {
            let counters = &rewritten.counters;
            let counts = |function| counters.of_function(function).map(|index| &counters.functions()[index].counters);
            fuzzbox_instrument::leave_out(&mut wasm, |function| {
                !functions.contains(&function) && counts(function).is_some_and(|counters| !counters.is_empty())
            })?;
        }
        // What can still be new is different in every campaign, and so is what failed: nobody would find such code
        // again.
        let is_kept = !matches!(variant, Variant::Fast(_)) && functions.is_none();
        let kept = if is_kept { cache } else { &CodeCache::default() };
        let code = CompiledModule::new(&wasm, (interface, &variant), (kept, code))?;
        drop(wasm);
        let stop = rewritten.injected.stop.and_then(|function| Stop::of(&code.module, function));
        let stubs = (settings.stub_imports, &**missing);
        let protocol = &rewritten.injected.protocol_exports;
        let imports = link(&code.module, source.lowered(), stubs, variant.frames_max().is_none(), protocol)?;
        Ok(Self {
            candidate,
            edges: std::mem::take(&mut rewritten.edges),
            groups: Groups::new(&rewritten.counters),
            rewritten,
            variant,
            functions,
            code,
            stop,
            imports,
            mutate: None,
            exact: None,
            restores: HANDLED,
            cache: cache.clone(),
            warmth: None,
            learned: InstanceFacts::default(),
            against: None,
            optimised: OptimisedTargets::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::sync::Arc;

    #[test]
    fn interruptible_is_the_code_of_the_modules_functions_and_nothing_else() {
        let functions: String = (0..300)
            .map(|index| format!("(func (export \"f{index}\") (call $import) (drop (memory.grow (i32.const 1))))"))
            .collect();
        let text = format!(
            r#"(module (import "fuzzbox_v1" "snapshot_here" (func $import)) (memory 1) {functions}
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0)))"#
        );
        let metered = Arc::new(Target::load(text.as_bytes(), Settings::default()).unwrap());
        assert_eq!(metered.stop, None, "it has fuel");
        for variant in [Variant::Full, Variant::Fast(fuzzbox_instrument::EdgeSet::default())] {
            let target = metered.in_variant(variant).unwrap();
            let Stop { functions, at } = target.stop.clone().unwrap();
            let base = target.code.module.text().as_ptr() as usize;
            let mut ranges: Vec<_> =
                target.code.module.functions().map(|function| (base + function.offset, function.len)).collect();
            ranges.sort_unstable();
            assert!(ranges.iter().any(|&(start, _)| start == at));
            let mut end = functions.start;
            for (start, len) in ranges {
                // As far as the next multiple of the alignment of functions.
                assert!((end..end + 64).contains(&start), "something lies between functions");
                end = start + len;
            }
            assert_eq!(end, functions.end);
            assert!(base + target.code.module.text().len() > end, "the ways in and out lie behind");
        }
    }
}
