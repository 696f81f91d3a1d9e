//! Where a function takes fuel, and how much.
//!
//! An entry that takes what the whole body costs charges an allocator for all of its cases whenever it is called, ten
//! times what it executes. So what may not be executed is charged where it begins, if it is worth that: an arm of an
//! `if`, what follows a branch that may leave the block, and what follows a block out of which something may branch
//! further. A loop's head is charged for each turn.
//!
//! ```wat
//! (func                    ;; 5: what comes before the first charge behind it
//!   ...
//!   if                     ;; 90, if the arm has so many operators
//!     ...
//!     return
//!   end                    ;; 200: what follows, since the arm leaves
//!   ...
//!   loop                   ;; 12, each turn
//!     ...
//! ```
//!
//! All that is executed is charged before: what comes next in a block, by the last charge before it there, or else by
//! that of the block around, and both were passed.

use anyhow::Result;
use wasmparser::{FunctionBody, Operator};

use super::cost;
use crate::module::survey::Survey;

/// What is worth a charge of its own, in units: it takes three instructions.
const WORTH: u32 = 64;
/// What an entry or a turn of a loop executes by then, in units, so that charges are a small part of all.
const APART: u32 = 32;
/// Charges of each entry, and turn of a loop, that may follow sooner: what can be done quickly is done at the
/// beginning.
const SOON: u32 = 4;

/// Where fuel is taken, beside the entry: by number of the operator behind which that is.
pub(super) struct Charges {
    /// What the entry takes, in units.
    pub(super) entry: u32,
    /// Operators, ascending, and units.
    behind: Vec<(u32, u32)>,
}

impl Charges {
    /// Those of a body whose entry takes so much beside its operators.
    pub(super) fn of(body: &FunctionBody<'_>, survey: &Survey<'_>, entry: u32) -> Result<Charges> {
        let mut sizes = sizes(body, survey)?.into_iter();
        let total = sizes.next().unwrap_or_default();
        let mut plan = Plan {
            units: vec![entry],
            behind: Vec::new(),
            blocks: vec![Block::new(0, total, false)],
            soon: vec![SOON],
        };
        let mut operators = body.get_operators_reader()?;
        let mut number = 0;
        while !operators.eof() {
            plan.operator(number, &operators.read()?, survey, &mut sizes);
            number += 1;
        }
        let Plan { units, behind, .. } = plan;
        let behind = behind.into_iter().map(|(number, charge)| (number, units[charge])).collect();
        Ok(Charges { entry: units[0].max(1), behind })
    }

    /// What is taken behind an operator, in units.
    pub(super) fn behind(&self, number: u32) -> Option<u32> {
        let place = self.behind.binary_search_by_key(&number, |&(behind, _)| behind).ok()?;
        Some(self.behind[place].1.max(1))
    }
}

/// What the body costs, and each block and arm in it, in the order of their beginnings: without loops inside, which are
/// charged by themselves.
fn sizes(body: &FunctionBody<'_>, survey: &Survey<'_>) -> Result<Vec<u32>> {
    let (mut sizes, mut open) = (vec![0_u32], vec![(0, false)]);
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let operator = operators.read()?;
        if let Some(&(block, _)) = open.last() {
            let size: &mut u32 = &mut sizes[block];
            *size = size.saturating_add(cost::of(&operator, survey));
        }
        match operator {
            Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } | Operator::Loop { .. } => {
                open.push((sizes.len(), matches!(operator, Operator::Loop { .. })));
                sizes.push(0);
            }
            Operator::Else | Operator::End => {
                if let (Some((block, false)), Some(&(around, _))) = (open.pop(), open.last()) {
                    sizes[around] = sizes[around].saturating_add(sizes[block]);
                }
                if matches!(operator, Operator::Else) {
                    open.push((sizes.len(), false));
                    sizes.push(0);
                }
            }
            _ => {}
        }
    }
    Ok(sizes)
}

struct Plan {
    /// By charge.
    units: Vec<u32>,
    /// The operators behind which charges are, ascending, but for the entry's.
    behind: Vec<(u32, usize)>,
    /// Those that are open.
    blocks: Vec<Block>,
    /// How many charges may follow soon: in the function, and the loops that are open.
    soon: Vec<u32>,
}

/// An open block.
struct Block {
    /// The charge for what comes next in it.
    charge: usize,
    /// What it costs, and what of that was passed.
    total: u32,
    passed: u32,
    is_loop: bool,
    /// A `br_table` may go to its label.
    is_target: bool,
    /// Something inside may branch further than to its end.
    is_left: bool,
}

impl Block {
    fn new(charge: usize, total: u32, is_loop: bool) -> Block {
        Block { charge, total, passed: 0, is_loop, is_target: false, is_left: false }
    }
}

impl Plan {
    fn operator(
        &mut self,
        number: u32,
        operator: &Operator<'_>,
        survey: &Survey<'_>,
        sizes: &mut impl Iterator<Item = u32>,
    ) {
        use Operator as O;
        let Some(innermost) = self.blocks.last_mut() else { return };
        let (cost, charge) = (cost::of(operator, survey), innermost.charge);
        innermost.passed = innermost.passed.saturating_add(cost);
        self.units[charge] = self.units[charge].saturating_add(cost);
        match *operator {
            O::Block { .. } | O::TryTable { .. } => {
                self.blocks.push(Block::new(charge, sizes.next().unwrap_or_default(), false));
            }
            O::Loop { .. } => {
                let charge = self.charge(number);
                self.blocks.push(Block::new(charge, sizes.next().unwrap_or_default(), true));
                self.soon.push(SOON);
            }
            O::If { .. } => {
                let size = sizes.next().unwrap_or_default();
                let charge = if size >= WORTH { self.charge(number) } else { charge };
                self.blocks.push(Block::new(charge, size, false));
            }
            O::Else => {
                let Some(then) = self.blocks.pop() else { return };
                let around = self.blocks.last_mut().map_or(0, |around| {
                    around.passed = around.passed.saturating_add(then.total);
                    around.charge
                });
                let size = sizes.next().unwrap_or_default();
                let charge = if size >= WORTH { self.charge(number) } else { around };
                let Block { is_target, is_left, .. } = then;
                self.blocks.push(Block { is_target, is_left, ..Block::new(charge, size, false) });
            }
            O::End => self.end(number),
            O::Br { relative_depth } => self.leaves(relative_depth),
            O::BrIf { relative_depth }
            | O::BrOnNull { relative_depth }
            | O::BrOnNonNull { relative_depth }
            | O::BrOnCast { relative_depth, .. }
            | O::BrOnCastFail { relative_depth, .. } => {
                self.leaves(relative_depth);
                self.charge_rest(number);
            }
            O::BrTable { ref targets } => {
                for depth in targets.targets().chain([Ok(targets.default())]).flatten() {
                    self.leaves(depth);
                    let target = self.blocks.len().checked_sub(depth as usize + 1);
                    if let Some(block) = target.and_then(|index| self.blocks.get_mut(index)) {
                        block.is_target = !block.is_loop;
                    }
                }
            }
            O::Return | O::ReturnCall { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                self.leaves(u32::MAX);
            }
            // What traps or throws is the last that most executions do.
            _ => {}
        }
    }

    fn end(&mut self, number: u32) {
        let Some(ended) = self.blocks.pop() else { return };
        if ended.is_loop {
            self.soon.pop();
        }
        let Some(around) = self.blocks.last_mut() else { return };
        if !ended.is_loop {
            around.passed = around.passed.saturating_add(ended.total);
        }
        if ended.is_target {
            let charge = self.charge(number);
            if let Some(around) = self.blocks.last_mut() {
                around.charge = charge;
            }
        } else if ended.is_left {
            self.charge_rest(number);
        }
    }

    /// A new charge, behind an operator.
    fn charge(&mut self, number: u32) -> usize {
        self.behind.push((number, self.units.len()));
        self.units.push(0);
        self.units.len() - 1
    }

    /// Something may branch so far.
    fn leaves(&mut self, depth: u32) {
        let inside = self.blocks.iter_mut().rev().take(depth as usize);
        inside.for_each(|block| block.is_left = true);
    }

    /// What follows in the innermost block may not be executed: charges it here, if that pays.
    fn charge_rest(&mut self, number: u32) {
        let (Some(block), Some(soon)) = (self.blocks.last(), self.soon.last_mut()) else { return };
        let is_soon = self.units[block.charge] < APART;
        if block.total.saturating_sub(block.passed) < WORTH || (is_soon && *soon == 0) {
            return;
        }
        *soon -= u32::from(is_soon);
        let charge = self.charge(number);
        if let Some(block) = self.blocks.last_mut() {
            block.charge = charge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::survey::survey;

    /// What the entry takes, and what is taken behind operators, of a function of one parameter.
    fn charges(code: &str) -> (u32, Vec<(u32, u32)>) {
        let wasm = wat::parse_str(format!("(module (func (param i32) {code}))")).unwrap();
        let (survey, bodies) = survey(&wasm).unwrap();
        let (_, body) = bodies.into_iter().next().unwrap();
        let Charges { entry, behind } = Charges::of(&body, &survey, 0).unwrap();
        (entry, behind)
    }

    #[test]
    fn what_may_not_be_executed_is_charged_where_it_begins() {
        let (few, many) = ("nop ".repeat(5), "nop ".repeat(100));
        // `local.get`, `if`, `else`, `end`s; the one that ends the function counts.
        assert_eq!(charges(&few), (6, vec![]));
        assert_eq!(charges(&many), (101, vec![]), "nothing is skipped");
        assert_eq!(charges(&format!("local.get 0 if {few} end {many}")), (109, vec![]), "an arm that is small");
        let (entry, behind) = charges(&format!("local.get 0 if {many} else {few} end"));
        assert_eq!((entry, behind), (2 + 5 + 1 + 1, vec![(1, 101)]), "an arm that is large");
        // What is done quickly, and then all else.
        let (entry, behind) = charges(&format!("local.get 0 if {few} return end {many}"));
        assert_eq!((entry, behind), (2 + 5 + 1 + 1, vec![(8, 101)]));
        let (entry, behind) = charges(&format!("block local.get 0 br_if 0 {many} end"));
        assert_eq!((entry, behind), (3 + 1, vec![(2, 101)]));
        // A loop is charged for each turn, and what comes behind it at the entry, unless something leaves both.
        let (entry, behind) = charges(&format!("loop {few} local.get 0 br_if 0 end {many}"));
        assert_eq!((entry, behind), (1 + 101, vec![(0, 5 + 3)]));
        let (entry, behind) = charges(&format!("block loop local.get 0 br_if 1 br 0 end {many} end {few}"));
        assert_eq!((entry, behind), (2 + 5 + 1, vec![(1, 4), (5, 101)]));
        // Where a `br_table` arrives.
        let (entry, behind) = charges(&format!("block block local.get 0 br_table 0 1 end {many} end {few}"));
        assert_eq!(entry, 5, "up to where it goes");
        assert_eq!(behind, vec![(4, 101), (105, 6)]);
    }

    #[test]
    fn charges_do_not_follow_too_soon() {
        let checks = "local.get 0 br_if 0 ".repeat(100);
        let (_, behind) = charges(&format!("block {checks} end"));
        assert!(behind.len() <= SOON as usize + 200 / APART as usize, "{behind:?}");
        assert!(behind.len() >= 4);
    }
}
