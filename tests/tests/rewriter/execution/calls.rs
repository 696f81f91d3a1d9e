//! Which calls of a module can be part of a recursion, and how many of them are live.

use std::collections::{BTreeMap, BTreeSet};

use fuzzbox_instrument::OffsetMap;
use wasmparser::{Operator, Parser, Payload};
use wasmtime::WasmBacktrace;

/// The calls that the rewriter counts, found in another way than the rewriter does.
pub(crate) struct Recursive {
    /// Offsets in the original module.
    calls: BTreeSet<u32>,
}

impl Recursive {
    pub(crate) fn of(wasm: &[u8]) -> Recursive {
        let mut imported = 0;
        let mut bodies = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.unwrap() {
                Payload::ImportSection(imports) => {
                    let types = imports.into_imports().map(|import| import.unwrap().ty);
                    imported += types.filter(|ty| matches!(ty, wasmparser::TypeRef::Func(_))).count() as u32;
                }
                Payload::CodeSectionEntry(body) => bodies.push(body),
                _ => {}
            }
        }
        let mut callees: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut calls = Vec::new();
        for (function, body) in (imported..).zip(bodies) {
            for operator in body.get_operators_reader().unwrap().into_iter_with_offsets() {
                let (operator, offset) = operator.unwrap();
                match operator {
                    Operator::Call { function_index } => calls.push((offset as u32, function, Some(function_index))),
                    Operator::CallIndirect { .. } | Operator::CallRef { .. } => {
                        calls.push((offset as u32, function, None));
                    }
                    _ => {}
                }
                if let Operator::Call { function_index } | Operator::ReturnCall { function_index } = operator {
                    callees.entry(function).or_default().insert(function_index);
                }
            }
        }
        let reaches = |from: u32, to: u32| {
            let (mut seen, mut todo) = (BTreeSet::from([from]), vec![from]);
            while let Some(function) = todo.pop() {
                todo.extend(callees.get(&function).into_iter().flatten().filter(|&&callee| seen.insert(callee)));
            }
            seen.contains(&to)
        };
        let counted =
            |&(_, caller, callee): &(u32, u32, Option<u32>)| callee.is_none_or(|callee| reaches(callee, caller));
        Recursive { calls: calls.into_iter().filter(counted).map(|(offset, _, _)| offset).collect() }
    }

    /// How many of them are live. `None` if the engine does not know where a frame is.
    pub(crate) fn live(&self, backtrace: &WasmBacktrace, offsets: &OffsetMap) -> Option<usize> {
        let mut live = 0;
        for frame in backtrace.frames() {
            // Code that was added belongs to no operator, and calls nothing.
            let original = offsets.original(frame.module_offset()? as u32);
            live += usize::from(original.is_some_and(|offset| self.calls.contains(&offset)));
        }
        Some(live)
    }
}
