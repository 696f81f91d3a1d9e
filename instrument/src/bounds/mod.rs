//! Which accesses to a memory are compared with the end of the guest's part, and how far.
//!
//! Where pages behind the guest's part are accessible, each address has to be compared before it is used. Most
//! comparisons would say what an earlier one has said, so these are left out:
//!
//! - of addresses that are known to be small: constants, masked and narrow numbers, as for tables in static data;
//! - of what lies within what was compared before on every way here, from the same value: a pointer's fields. A memory never becomes
//!   smaller, so what was inside stays inside.
//!
//! ```wat
//! local.get $p                        local.get $p     ;; compared: $p + 12 <= end
//! i32.load offset=4                   i32.load offset=4
//! local.get $p                        local.get $p
//! i32.load offset=8                   i32.load offset=8
//! ```
//!
//! A comparison goes as far as the accesses need that follow without a branch or a call between, so one of them is out
//! of bounds if it fails. For addresses that come from a global, which is the stack pointer, it goes as far as all
//! accesses that it stands before: a frame that isn't within the memory is a failure, if maybe not yet. Whoever
//! compiles with bounds executes again what fails.
//!
//! [`values`] tells values of a function apart, without memory of how they come to be; [`facts`] keeps what was
//! compared on the way to a place; [`walk`] goes through the operators.

mod check;
mod facts;
mod values;
mod walk;

pub(crate) use check::{Check, Reach};
pub(crate) use walk::checks;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::access::memarg;
    use wasmparser::{Operator, Parser, Payload};

    /// What is compared in a function of two parameters, with two pages of memory: for each access where from and to,
    /// or nothing.
    fn compared(code: &str) -> Vec<Option<(i64, i64)>> {
        let text = format!(
            "(module (memory 2) (global $sp (mut i32) (i32.const 9000)) (func $other) \
             (func (param $p i32) (param $q i32) (local $r i32) {code}))"
        );
        let wasm = wat::parse_str(text).unwrap();
        let mut bodies = Parser::new(0).parse_all(&wasm).map(Result::unwrap).filter_map(|payload| match payload {
            Payload::CodeSectionEntry(body) => Some(body),
            _ => None,
        });
        let body = bodies.nth(1).unwrap();
        let checks = checks(&body, 2 << 16, &|memory| memory == 0);
        let mut operators = body.get_operators_reader().unwrap();
        let mut found = Vec::new();
        while !operators.eof() {
            let at = operators.original_position() as u32;
            let operator: Operator<'_> = operators.read().unwrap();
            if memarg(&operator).is_some() {
                let check = checks.iter().find(|check| check.at == at).unwrap();
                found.push(check.reach.map(|reach| (reach.start, reach.end)));
            }
        }
        found
    }

    #[test]
    fn what_follows_without_a_branch_is_compared_at_once() {
        let fields = "(drop (i32.load offset=4 (local.get $p))) (i64.store offset=8 (local.get $p) (i64.const 0))
            (drop (i32.load8_u (local.get $p)))";
        assert_eq!(compared(fields), [Some((0, 16)), None, None]);
        let added = "(drop (i32.load (i32.add (local.get $p) (i32.const 100))))
            (drop (i32.load offset=8 (i32.add (local.get $p) (i32.const 4)))) (drop (i32.load offset=100 (local.get $p)))";
        assert_eq!(compared(added), [Some((-88, 4)), None, None]);
        let others = "(drop (i32.load (local.get $p))) (drop (i32.load (local.get $q)))";
        assert_eq!(compared(others), [Some((0, 4)), Some((0, 4))]);
        let called = "(drop (i32.load (local.get $p))) (call $other) (drop (i32.load offset=4 (local.get $p)))
            (drop (i32.load (local.get $p)))";
        assert_eq!(compared(called), [Some((0, 4)), Some((0, 8)), None]);
        let set = "(drop (i32.load (local.get $p))) (local.set $p (local.get $q)) (drop (i32.load (local.get $p)))
            (drop (i32.load (local.get $q)))";
        assert_eq!(compared(set), [Some((0, 4)), Some((0, 4)), None]);
        let far = "(drop (i32.load (local.get $p))) (drop (i32.load (i32.add (local.get $p) (i32.const -4))))";
        assert_eq!(compared(far), [Some((0, 4)), Some((0, 4))]);
    }

    #[test]
    fn branches_keep_what_every_way_has_seen() {
        let both = "(drop (i32.load (local.get $p)))
            (if (local.get $q) (then (drop (i32.load offset=4 (local.get $p)))) (else (drop (i32.load (local.get $p)))))
            (drop (i32.load offset=4 (local.get $p))) (drop (i32.load (local.get $p)))";
        assert_eq!(compared(both), [Some((0, 4)), Some((0, 8)), None, Some((0, 8)), None]);
        let left = "(block (drop (i32.load (local.get $p))) (br_if 0 (local.get $q)) (drop (i32.load offset=4 (local.get $p))))
            (drop (i32.load (local.get $p))) (drop (i32.load offset=4 (local.get $p)))";
        assert_eq!(compared(left), [Some((0, 4)), Some((0, 8)), None, Some((0, 8))]);
        let inner =
            "(block (block (br_if 1 (local.get $q)) (drop (i32.load (local.get $p)))) (drop (i32.load (local.get $p))))
            (drop (i32.load (local.get $p)))";
        assert_eq!(compared(inner), [Some((0, 4)), None, Some((0, 4))]);
        // What one way has left out, and another has put in its place.
        let cut = "(block (block (drop (i32.load (local.get $p))) (br_if 1 (local.get $q)) (br 0))
            (block (br_if 0 (local.get $q)) (drop (i32.load (local.get $q)))) (drop (i32.load (local.get $q))) (br 0))
            (drop (i32.load (local.get $p))) (drop (i32.load (local.get $q)))";
        assert_eq!(compared(cut), [Some((0, 4)), Some((0, 4)), Some((0, 4)), None, Some((0, 4))]);
        let replaced = "(block $a (drop (i32.load (local.get $p)))
              (block $c (br_if $c (local.get $q)) (drop (i32.load (local.get $q))) (br_if $a (local.get $q)))
              (drop (i32.load (local.get $r))))
            (drop (i32.load (local.get $q))) (drop (i32.load (local.get $r))) (drop (i32.load (local.get $p)))";
        assert_eq!(compared(replaced), [Some((0, 4)), Some((0, 4)), Some((0, 4)), Some((0, 4)), Some((0, 4)), None]);
        let set = "(block (br_if 0 (local.get $q)) (local.set $p (local.get $q)) (drop (i32.load (local.get $p))))
            (drop (i32.load (local.get $p)))";
        assert_eq!(compared(set), [Some((0, 4)), Some((0, 4))]);
        let dead = "(block (drop (i32.load (local.get $p))) (br 0)) (drop (i32.load (local.get $p)))";
        assert_eq!(compared(dead), [Some((0, 4)), None]);
    }

    #[test]
    fn loops_begin_with_what_is_known_of_what_they_dont_change() {
        let same = "(drop (i32.load (local.get $p))) (loop (drop (i32.load (local.get $p))) (br_if 0 (local.get $q)))
            (drop (i32.load (local.get $p)))";
        assert_eq!(compared(same), [Some((0, 4)), None, None]);
        let other = "(drop (i32.load (local.get $p)))
            (loop (drop (i32.load (local.get $p))) (local.set $p (i32.add (local.get $p) (i32.const 4)))
              (drop (i32.load (local.get $p))) (br_if 0 (local.get $q)))
            (drop (i32.load (local.get $p)))";
        assert_eq!(compared(other), [Some((0, 4)), Some((0, 8)), None, None]);
        // The other local has what this one had a turn before.
        let turn =
            "(loop (drop (i32.load (local.get $r))) (drop (i32.load (local.get $p))) (local.set $r (local.get $p))
              (local.set $p (local.get $q)) (drop (i32.load (local.get $r))) (br_if 0 (local.get $q)))";
        assert_eq!(compared(turn), [Some((0, 4)), Some((0, 4)), None]);
    }

    #[test]
    fn small_addresses_are_not_compared() {
        let table = "(drop (i32.load offset=1024 (i32.shl (i32.and (local.get $p) (i32.const 255)) (i32.const 2))))
            (drop (i32.load8_u offset=130000 (i32.load8_u (i32.const 16))))
            (i32.store (i32.const 131068) (i32.const 0)) (i32.store (i32.const 131069) (i32.const 0))
            (drop (i32.load offset=130000 (i32.load16_u (i32.const 0))))";
        assert_eq!(compared(table), [None, None, None, None, Some((0, 4)), None, Some((130_000, 130_004))]);
    }

    #[test]
    fn frames_are_compared_once() {
        let frame =
            "(local.set $r (i32.sub (global.get $sp) (i32.const 64))) (i32.store offset=4 (local.get $r) (i32.const 0))
            (if (local.get $q) (then (i32.store offset=60 (local.get $r) (i32.const 0))))
            (i32.store offset=40 (i32.add (local.get $r) (i32.const 16)) (i32.const 0))";
        assert_eq!(compared(frame), [Some((4, 64)), None, None]);
    }
}
