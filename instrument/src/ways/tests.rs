use super::{Decision, Dependence, Goal, Program, SeenCalls, Test};

fn program(text: &str) -> Program {
    Program::of(&wat::parse_str(text).unwrap()).unwrap()
}

/// The levels of a function's blocks from 2 on, as text.
fn levels(program: &Program, function: u32, goal: Goal, kind: Dependence) -> String {
    let levels = program.levels(&[goal], kind, &SeenCalls::default());
    let blocks = 2..program.cfg(function).unwrap().blocks().len() as u32;
    let text =
        |block| levels.of(program.block(function, block).unwrap()).map_or("-".to_owned(), |level| level.to_string());
    blocks.map(text).collect::<Vec<_>>().join(" ")
}

/// Two functions: `$f` has eight blocks, of which block 4 calls `$g`.
const EIGHT: &str = "(module
    (func $g (param i32) (if (local.get 0) (then nop)))
    (func $f (param i32)
        (if (local.get 0)
            (then (if (local.get 0) (then (call $g (i32.const 1))) (else nop)) nop)
            (else nop))
        nop
        (loop nop)))";

#[test]
fn distances_are_those_of_aflgos_tool_by_hand() {
    let program = program(EIGHT);
    assert_eq!(program.cfg(1).unwrap().blocks().len(), 2 + 8);
    let block = |function, block| program.block(function, block).unwrap();
    let distances = program.distances(&[Goal::Block(block(1, 7)), Goal::Block(block(0, 3))], &SeenCalls::default());
    // `$g` reaches itself alone: 1. So the call counts 10. The other branch has the other goal.
    let expected = [
        (block(0, 2), Some(2.0)),
        (block(0, 3), Some(1.0)),
        (block(0, 4), None),
        (block(1, 2), Some(2.0 / (1.0 / 13.0 + 1.0 / 2.0))),
        (block(1, 3), Some(12.0)),
        (block(1, 4), Some(11.0)),
        (block(1, 5), None),
        (block(1, 6), None),
        (block(1, 7), Some(1.0)),
        (block(1, 8), None),
        (block(1, 9), None),
    ];
    for (block, expected) in expected {
        match (distances[block as usize], expected) {
            (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-9, "{block}: {found} {expected}"),
            (found, expected) => assert_eq!(found, expected, "{block}"),
        }
    }
    let functions = program.function_distances(&[0, 1].into(), &SeenCalls::default());
    assert_eq!(functions, [Some(1.0), Some(2.0 / (1.0 + 1.0 / 2.0))]);
}

/// The blocks of Gopinath's triangle: n1 is block 2, and so on.
const TRIANGLE: &str = "(module (func (param $a i32) (param $b i32) (param $c i32) (result i32)
    (if (i32.eq (local.get $a) (local.get $b))
        (then (if (i32.eq (local.get $b) (local.get $c)) (then (return (i32.const 3))) (else (return (i32.const 2)))))
        (else (if (i32.eq (local.get $b) (local.get $c))
            (then (return (i32.const 2)))
            (else (if (i32.eq (local.get $a) (local.get $c))
                (then (return (i32.const 2)))
                (else (return (i32.const 1))))))))
    unreachable))";

#[test]
fn levels_of_the_triangle_are_the_golden_ones() {
    let program = program(TRIANGLE);
    // n1 n2 n3 n4 n5 n6 n7 n8 n9
    let level = |n: u32, kind| levels(&program, 0, Goal::Block(n + 1), kind);
    for kind in [Dependence::Standard, Dependence::Dominating] {
        assert_eq!(level(3, kind), "2 1 0 - - - - - -");
        assert_eq!(level(8, kind), "3 - - - 2 - 1 0 -");
    }
    let levels = program.levels(&[Goal::Block(9)], Dependence::Standard, &SeenCalls::default());
    let cfg = program.cfg(0).unwrap();
    let closer: Vec<_> =
        cfg.flows().iter().filter(|flow| flow.edge.is_some_and(|edge| levels.is_closer(edge))).collect();
    let ways: Vec<_> = closer.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!(ways, [(0, 2), (2, 6), (6, 8), (8, 9)]);
    // The nearest of several goals counts.
    let both = program.levels(&[Goal::Block(4), Goal::Block(9)], Dependence::Standard, &SeenCalls::default());
    assert_eq!((2..11).map(|block| both.of(block)).collect::<Vec<_>>()[..3], [Some(2), Some(1), Some(0)]);
}

#[test]
fn gcds_body_depends_on_the_loop_test_and_its_return_on_nothing() {
    let program = program(
        "(module (func (param $a i32) (param $b i32) (result i32) (local $c i32)
            (if (i32.lt_s (local.get $a) (local.get $b))                                         ;; 2
                (then (local.set $c (local.get $a)) (local.set $a (local.get $b)) (local.set $b (local.get $c)))) ;; 3, 4
            (block $out (loop $again                                                             ;; 5
                (br_if $out (i32.eqz (local.get $b)))
                (local.set $c (local.get $a)) (local.set $a (local.get $b))                      ;; 6
                (local.set $b (i32.rem_s (local.get $c) (local.get $b)))
                (br $again)))
            (local.get $a)))                                                                     ;; 7",
    );
    for kind in [Dependence::Standard, Dependence::Dominating] {
        let level = |block| levels(&program, 0, Goal::Block(block), kind);
        assert_eq!(level(3), "1 0 - - - -", "the swap depends on a < b");
        assert_eq!(level(6), "- - - 1 0 -", "the body depends on the loop's test");
        assert_eq!(level(7), "- - - - - 0", "the return depends on neither");
    }
}

#[test]
fn behind_a_join_the_two_kinds_differ() {
    // Block 5 comes after one way of the first test, or of the second: the first alone dominates it.
    let program = program(
        "(module (func (param $a i32) (param $b i32)
            (block $out (block $in
                (br_if $in (local.get $a))
                (br_if $out (local.get $b)))
                nop)))",
    );
    let level = |kind| levels(&program, 0, Goal::Block(5), kind);
    assert_eq!(level(Dependence::Standard), "1 1 - 0 -");
    assert_eq!(level(Dependence::Dominating), "1 - - 0 -");
}

#[test]
fn levels_go_on_where_a_function_is_called() {
    let program = program(
        "(module
            (type $t (func (param i32)))
            (table funcref (elem $goal $other))
            (func $goal (type $t) (if (local.get 0) (then nop)))
            (func $other (type $t))
            (func $direct (param i32) (if (local.get 0) (then (call $goal (local.get 0)))))
            (func $indirect (param i32) (if (local.get 0) (then (call_indirect (type $t) (local.get 0) (i32.const 0)))))
            (func $again (param i32) (call $direct (local.get 0)) (call $again (local.get 0)))
            (func $nobody (param i32) (call $other (local.get 0))))",
    );
    let goal = Goal::Block(program.block(0, 3).unwrap());
    let level = |function| levels(&program, function, goal, Dependence::Standard);
    // In the function, its test; then its entry, which is the call's level.
    assert_eq!(level(0), "1 0 -");
    assert_eq!((&*level(2), &*level(3), &*level(4), &*level(5)), ("3 2 -", "4 3 -", "4", "-"));
    // An edge is a goal as well.
    let edge = program.cfg(0).unwrap().edges().nth(2).unwrap();
    assert_eq!(levels(&program, 0, Goal::Edge(edge), Dependence::Standard), "1 - -");
    assert_eq!(program.witnesses(&[Goal::Edge(edge)]), [edge]);
    let distances = program.distances(&[goal], &SeenCalls::default());
    let distance = |function, block| distances[program.block(function, block).unwrap() as usize];
    assert_eq!((distance(2, 3), distance(3, 3), distance(3, 2)), (Some(11.0), Some(11.0), Some(12.0)));
    assert_eq!((distance(4, 2), distance(5, 2)), (Some(21.0), None));
}

#[test]
fn of_functions_that_were_seen_called_those_callers_count_alone() {
    let program = program(
        "(module
            (type $t (func (param i32)))
            (table funcref (elem $goal $other))
            (func $goal (type $t) (if (local.get 0) (then nop)))
            (func $other (type $t) (call $goal (local.get 0)))
            (func $sees (param i32) (call_indirect (type $t) (local.get 0) (i32.const 0)))
            (func $sorts (param i32) (call_indirect (type $t) (local.get 0) (i32.const 0)))
            (func $calls (param i32) (call $sorts (local.get 0))))",
    );
    let goal = Goal::Block(program.block(0, 3).unwrap());
    let reached = |seen: &SeenCalls| -> Vec<(Option<u32>, Option<f64>)> {
        let levels = program.levels(&[goal], Dependence::Standard, seen);
        let distances = program.distances(&[goal], seen);
        let of = |function| program.block(function, 2).unwrap();
        (1..5).map(|function| (levels.of(of(function)), distances[of(function) as usize])).collect()
    };
    let nothing = reached(&SeenCalls::default());
    assert_eq!(nothing.len(), 4);
    assert!(nothing.iter().all(|(level, distance)| level.is_some() && distance.is_some()), "{nothing:?}");
    let mut seen = SeenCalls::default();
    seen.insert(2, 0);
    seen.insert(2, 1);
    let rows = reached(&seen);
    assert_eq!(rows[..2], nothing[..2], "whoever was seen is as near as before");
    assert_eq!(rows[2..], [(None, None), (None, None)], "nobody saw these");
    assert!(program.can_call_by_reference(3, 0) && program.can_call_by_reference(3, 1));
    assert!(!program.can_call_by_reference(1, 0) && !program.can_call_by_reference(3, 2));
    // What nobody was seen to call is called by all that can.
    let mut seen = SeenCalls::default();
    seen.insert(2, 1);
    assert_eq!(reached(&seen), nothing);
}

#[test]
fn what_edges_say_is_executed_and_who_says_so() {
    let program = program(EIGHT);
    let block = |number| program.block(1, number).unwrap();
    let mut marked = vec![false; program.blocks()];
    let mut executed = Vec::new();
    let cfg = program.cfg(1).unwrap();
    let edge = |from, to| cfg.flows().iter().find(|flow| (flow.from, flow.to) == (from, to)).unwrap().edge.unwrap();
    program.executed([edge(0, 2), edge(2, 3), edge(3, 5)], &mut marked, |block| executed.push(block));
    assert_eq!(executed, [2, 3, 5, 6, 8, 9].map(block));
    // Whoever gets to the join was in one of the two parts before.
    assert_eq!(program.witnesses(&[Goal::Block(block(6))]), [edge(3, 4), edge(3, 5)]);
    assert_eq!(program.place(block(6)), (1, 6));
    assert!(program.has_code(block(6)) && !program.has_code(block(0)));
}

#[test]
fn decisions_are_what_comparisons_in_the_block_make_of_it() {
    let program = program(
        "(module (func (param $a i32) (param $b i64) (local $c i32)
            (br_if 0 (i32.eqz (i32.lt_s (local.get $a) (i32.const 7))))
            (local.set $c (i64.eqz (local.get $b)))
            (br_if 0 (i32.and (local.get $c) (i32.eq (local.get $a) (i32.const 1))))
            (br_if 0 (i32.and (i32.xor (i32.ne (local.get $a) (i32.const 2)) (i32.const -1)) (i32.const 1)))
            (br_if 0 (local.get $a))
            (block (block (br_table 0 1 (local.get $a))))))",
    );
    let cfg = program.cfg(0).unwrap();
    let decisions: Vec<_> = (2..7).map(|block| program.decision(block).unwrap().clone()).collect();
    assert!(matches!(&decisions[0], Decision::Test(Test::Not(test)) if matches!(**test, Test::Recorded(_))));
    let Decision::Test(Test::All(left, right)) = &decisions[1] else { panic!("{:?}", decisions[1]) };
    assert!(left.last() < right.last() && decisions[1].last() == right.last());
    assert!(matches!(&decisions[2], Decision::Test(Test::Not(_))), "{:?}", decisions[2]);
    let own = |block: u32| cfg.flows().iter().find(|flow| flow.from == block).unwrap().at;
    assert_eq!(decisions[3], Decision::Test(Test::Recorded(own(5))));
    assert_eq!(decisions[4], Decision::Choose(own(6)));
}

#[test]
fn conditions_of_conditions_stay_small() {
    let doubled = "(local.set $c (i32.and (local.get $c) (local.get $c)))".repeat(1000);
    let program = program(&format!(
        "(module (func (param $a i32) (local $c i32)
            (local.set $c (i32.eq (local.get $a) (i32.const 1))) {doubled} (br_if 0 (local.get $c))))"
    ));
    assert!(matches!(program.decision(2), Some(Decision::Test(_))));
}

#[test]
fn blocks_that_changed_are_those_whose_code_is_another() {
    let build = |inner: &str, before: &str| {
        let text = format!(
            "(module {before} (func $callee) (func $f (param i32)
                (if (local.get 0) (then (call $callee)) (else (drop (i32.const 5000)) {inner}))
                (drop (i32.const 3))))"
        );
        wat::parse_str(text).unwrap()
    };
    let changed = |old: &[u8], new: &[u8]| {
        let last = |wasm: &[u8]| crate::Cfgs::new(wasm).unwrap().last().unwrap().unwrap();
        super::changed_blocks((old, &last(old)), (new, &last(new)))
    };
    let old = build("nop", "");
    // A function more moves the callee's number, which is no change of the block that calls it.
    assert_eq!(changed(&old, &build("(drop (i32.const 4))", "(func)")), [4]);
    assert_eq!(changed(&old, &build("(if (local.get 0) (then unreachable))", "")), [4, 5, 6]);
    let constant = wat::parse_str(wasmprinter::print_bytes(&old).unwrap().replace("5000", "6000")).unwrap();
    assert_eq!(changed(&old, &constant), [4]);
    assert_eq!(changed(&old, &old), [2, 3, 4, 5], "whatever it is that changed");
}
