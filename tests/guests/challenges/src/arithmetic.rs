//! Problems about numbers.

use fuzzbox_guest::{Generate, Source, property};

#[derive(Debug, Generate)]
enum Expression {
    Number(i64),
    Add(Box<Expression>, Box<Expression>),
    Divide(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Divides by the number 0 somewhere.
    fn divides_by_zero_literally(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Divide(_, divisor) if matches!(**divisor, Self::Number(0)) => true,
            Self::Add(left, right) | Self::Divide(left, right) => {
                left.divides_by_zero_literally() || right.divides_by_zero_literally()
            }
        }
    }

    /// `None` if something is divided by 0.
    fn value(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Add(left, right) => Some(left.value()?.wrapping_add(right.value()?)),
            Self::Divide(left, right) => {
                let (left, right) = (left.value()?, right.value()?);
                if right == 0 {
                    return None;
                }
                let (quotient, rest) = (left.wrapping_div(right), left.wrapping_rem(right));
                Some(if rest != 0 && (rest < 0) != (right < 0) { quotient - 1 } else { quotient })
            }
        }
    }
}

property! {
    /// An expression that has no division by the number 0 in it can be evaluated.
    #[should_panic(expected = "a division by zero")]
    pub fn calculator(source) {
        let expression: Expression = source.draw();
        source.note_value("expression", &expression);
        source.assume(!expression.divides_by_zero_literally());
        assert!(expression.value().is_some(), "a division by zero");
    }
}

fn pair(source: &mut Source) -> (u64, u64) {
    let pair = (source.int(1..=i32::MAX as u64), source.int(1..=i32::MAX as u64));
    source.note_value("pair", &pair);
    pair
}

property! {
    /// Numbers from 10 on are different.
    #[should_panic(expected = "no difference")]
    pub fn difference_zero(source) {
        let (a, b) = pair(source);
        assert!(a < 10 || a != b, "no difference");
    }
}

property! {
    /// Numbers from 10 on are equal, or differ by five at least.
    #[should_panic(expected = "a small difference")]
    pub fn difference_small(source) {
        let (a, b) = pair(source);
        assert!(a < 10 || !(1..=4).contains(&a.abs_diff(b)), "a small difference");
    }
}

property! {
    /// Numbers from 10 on do not differ by one.
    #[should_panic(expected = "a difference of one")]
    pub fn difference_one(source) {
        let (a, b) = pair(source);
        assert!(a < 10 || a.abs_diff(b) != 1, "a difference of one");
    }
}
