//! Generators of recursive values end, and what they end with is small.

use fuzzbox_guest::native::{Choice, Input, Outcome, Seed, decode, run};
use fuzzbox_guest::{
    Generate, Generator, Source, any, boxed, ints, just, one_of, recursive, total_size, vec, weighted,
};

/// Branches are twice as likely as leaves, so half of all unbounded trees would never end.
#[derive(Debug, PartialEq, Generate)]
enum Tree {
    #[generate(weight = 2)]
    Branch(Box<Tree>, Box<Tree>),
    Leaf,
}

impl Tree {
    fn nodes(&self) -> usize {
        match self {
            Self::Branch(left, right) => 1 + left.nodes() + right.nodes(),
            Self::Leaf => 1,
        }
    }
}

/// The value that an execution drew.
fn drawn<T>(input: Input, draw: impl FnOnce(&mut Source) -> T) -> T {
    let mut value = None;
    let run = run(input, |source| value = Some(draw(source)));
    assert_eq!(run.outcome, Outcome::Passed);
    value.expect("it passed")
}

#[test]
fn ten_thousand_of_ten_thousand_trees_end() {
    let sizes: Vec<usize> = (1..=10_000)
        .map(|state: u32| {
            drawn(Seed::new(128, state.wrapping_mul(0x9e37_79b9)).into(), |source| source.draw::<Tree>()).nodes()
        })
        .collect();
    let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
    assert!(mean < 200.0, "{mean}");
    // A third is a single leaf, as the weights say: the order of alternatives takes nothing from what is likely.
    let leaves = sizes.iter().filter(|&&nodes| nodes == 1).count();
    assert!((3100..3560).contains(&leaves), "{leaves}");
    assert!(sizes.iter().any(|&nodes| nodes > 100));
}

#[test]
fn trees_end_that_have_as_much_entropy_as_there_is() {
    for state in 1..=200_u32 {
        let input = Seed::new(65_536, state.wrapping_mul(0x9e37_79b9)).into();
        assert!(drawn(input, |source| source.draw::<Tree>()).nodes() <= 65_536);
    }
}

#[test]
fn zeros_give_the_leaf_although_it_is_written_last() {
    assert_eq!(drawn(Input::default(), |source| source.draw::<Tree>()), Tree::Leaf);
    let zeros = vec![Choice::Index(0); 1000];
    assert_eq!(drawn(zeros.into(), |source| source.draw::<Tree>()), Tree::Leaf);
    assert_eq!(drawn(decode(&[0; 1000]).into(), |source| source.draw::<Tree>()), Tree::Leaf);
}

#[test]
fn trees_as_generators_end_too() {
    fn tree() -> impl Generator<Value = u32> {
        recursive(|tree| {
            weighted([
                (2, boxed((tree.clone(), tree).map(|(left, right)| 1 + left + right))),
                (1, boxed(ints(0..=0).map(|_: u8| 1))),
            ])
        })
    }
    let generator = tree();
    assert_eq!(drawn(Input::default(), |source| source.draw_from(&generator)), 1);
    for state in 1..=10_000_u32 {
        drawn(Seed::new(400, state.wrapping_mul(0x9e37_79b9)).into(), |source| source.draw_from(&generator));
    }
}

#[test]
fn ones_alone_do_not_go_deeper_than_permitted() {
    // Always the branch, for as long as there is a choice.
    let ones = vec![Choice::Index(1); 60_000];
    let run = run(ones.into(), |source| {
        source.set_depth_max(8);
        let tree: Tree = source.draw();
        assert_eq!(tree.nodes(), (1 << 10) - 1);
    });
    assert_eq!(run.outcome, Outcome::Passed);
}

#[test]
fn alternatives_are_ordered_by_their_smallest_sizes() {
    let generator = one_of![
        vec(any::<bool>(), 2..=3).map(|_| "five draws"),
        any::<u128>().map(|_| "two draws"),
        any::<u8>().map(|_| "one draw"),
        just("none"),
        any::<i8>().map(|_| "one draw, later"),
        any::<bool>().then(|_| just("who knows")),
    ];
    let named = |index| drawn(vec![Choice::Index(index)].into(), |source| source.draw_from(&generator));
    let names: Vec<_> = (0..6).map(named).collect();
    assert_eq!(names, ["none", "one draw", "one draw, later", "two draws", "five draws", "who knows"]);
    assert_eq!(generator.min_size(), 1);
}

#[test]
fn nested_alternatives_are_one_choice_however_they_are_nested() {
    let left = || one_of![one_of![just('a'), just('b')], just('c')];
    let right = || one_of![just('a'), one_of![just('b'), just('c')].map(|letter| letter)];
    for index in 0..3 {
        let of = |generator: &dyn Generator<Value = char>| {
            drawn(vec![Choice::Index(index)].into(), |source| source.draw_from(generator))
        };
        assert_eq!(of(&left()), of(&right()));
    }
    let mut counts = [0_u32; 3];
    for state in 1..=3000_u32 {
        let letter = drawn(Seed::new(8, state.wrapping_mul(0x9e37_79b9)).into(), |source| source.draw_from(&left()));
        counts[letter as usize - 'a' as usize] += 1;
    }
    assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
}

#[test]
fn weighted_alternatives_stay_whole() {
    let nested = one_of![just(1), weighted([(9, boxed(just(2))), (1, boxed(just(3)))])];
    assert_eq!(nested.alternatives(), 2);
    assert_eq!(total_size(&[nested.min_size()]), 1);
}

/// Statements and expressions need each other; each has a way out that is written last.
#[derive(Debug, PartialEq, Generate)]
enum Statement {
    Block(Vec<Statement>),
    If(Expression, Box<Statement>, Box<Statement>),
    Do(Expression),
}

#[derive(Debug, PartialEq, Generate)]
enum Expression {
    Call(Box<Expression>, Box<Expression>),
    Closure(Box<Statement>),
    Name(u8),
}

#[test]
fn types_that_need_each_other_end() {
    assert_eq!(drawn(Input::default(), |source| source.draw::<Expression>()), Expression::Name(0));
    assert_eq!(drawn(Input::default(), |source| source.draw::<Statement>()), Statement::Block(vec![]));
    for state in 1..=2000 {
        drawn(Seed::new(300, state).into(), |source| source.draw::<Statement>());
    }
}
