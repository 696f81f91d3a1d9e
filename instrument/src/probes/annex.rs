//! What a guest knows of a memory that is longer than it says: see [`annex`](crate::added::annex).

use anyhow::Result;
use wasmparser::{FunctionBody, MemArg, MemArgTarget, Operator, ValType};

use super::probe::{Probe, Site};
use crate::added::annex::{Annex as Additions, Helper};
use crate::bounds::{Check, Reach, checks};
use crate::layout::code::Code;
use crate::module::access::Access;
use crate::module::survey::Survey;

pub(super) struct Annex {
    added: Additions,
    /// Accesses that are compared with the end of the guest's part, in order.
    checks: Vec<Check>,
}

impl Probe for Annex {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        if !site.live {
            return Ok(());
        }
        let is_ours = |memory: u32| self.added.is(site.survey, memory);
        let wide = |memory: u32| site.survey.memory_types.get(memory as usize).is_some_and(|ty| ty.memory64);
        let range = |wide, first, second| Helper::Range { wide, first, second };
        let helper = match *operator {
            O::MemoryFill { mem } if is_ours(mem) => range([wide(mem), false, wide(mem)], true, false),
            O::MemoryInit { mem, .. } if is_ours(mem) => range([wide(mem), false, false], true, false),
            O::MemoryCopy { dst_mem, src_mem } if is_ours(dst_mem) || is_ours(src_mem) => {
                let (to, from) = (wide(dst_mem), wide(src_mem));
                range([to, from, to && from], is_ours(dst_mem), is_ours(src_mem))
            }
            _ if self.added.bounds || self.added.has_small_pages(site.survey) => return self.access(operator, site),
            _ => return Ok(()),
        };
        self.range(helper, site);
        Ok(())
    }

    fn instead(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        match *operator {
            O::MemorySize { mem } if self.added.is(site.survey, mem) => {
                let wide = self.added.is_wide(site.survey);
                let mut code = site.code();
                code.memory_size(mem);
                code.hidden();
                if wide {
                    code.i64_sub()
                } else {
                    code.i32_wrap_i64().i32_sub()
                };
            }
            O::MemoryGrow { mem } if self.added.is(site.survey, mem) => self.call(Helper::Grow, site),
            // Nobody waits, but the address has to be one.
            O::MemoryAtomicNotify { memarg } if self.is_at(&memarg, site) => {
                site.code().drop();
                self.notify(&memarg, site)?.i32_atomic_load(encoded(&memarg, 2)).drop().i32_const(0);
            }
            // This fails in any case; but first if the address is none.
            O::MemoryAtomicWait32 { memarg } if self.is_at(&memarg, site) => {
                site.code().drop().drop();
                self.notify(&memarg, site)?.i32_atomic_load(encoded(&memarg, 2)).drop();
                self.address_0(site);
                site.code().i32_const(0).i64_const(0).memory_atomic_wait32(at_start(&memarg));
            }
            O::MemoryAtomicWait64 { memarg } if self.is_at(&memarg, site) => {
                site.code().drop().drop();
                self.notify(&memarg, site)?.i64_atomic_load(encoded(&memarg, 3)).drop();
                self.address_0(site);
                site.code().i64_const(0).i64_const(0).memory_atomic_wait64(at_start(&memarg));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Annex {
    pub(super) fn new(survey: &Survey<'_>, added: Additions, body: &FunctionBody<'_>) -> Annex {
        let checks = match added.bounds {
            true => checks(body, added.bytes_min(survey), &|memory| added.is(survey, memory)),
            false => Vec::new(),
        };
        Annex { added, checks }
    }

    fn is_at(&self, memarg: &MemArg, site: &Site<'_, '_>) -> bool {
        matches!(memarg.target, MemArgTarget::Memory(memory) if self.added.is(site.survey, memory))
    }

    /// Notifies nobody at the address on the stack, and leaves it: fails by what is no address but in what is nobody's.
    fn notify<'c>(&self, memarg: &MemArg, site: &'c mut Site<'_, '_>) -> Result<Code<'c>> {
        let ty = if self.added.is_wide(site.survey) { ValType::I64 } else { ValType::I32 };
        let address = site.scratch(ty, 0)?;
        let mut code = site.code();
        code.local_tee(address).i32_const(0).memory_atomic_notify(encoded(memarg, 2)).drop().local_get(address);
        Ok(code)
    }

    fn address_0(&self, site: &mut Site<'_, '_>) {
        let wide = self.added.is_wide(site.survey);
        let mut code = site.code();
        if wide {
            code.i64_const(0)
        } else {
            code.i32_const(0)
        };
    }

    /// Looks at the operands of a bulk operator.
    fn range(&self, helper: Helper, site: &mut Site<'_, '_>) {
        let locals = match helper {
            Helper::Range { wide: [false, false, false], first, second } => {
                let locals = (0..5).map(|number| site.scratch(ValType::I32, number)).collect::<Result<Vec<u32>>>();
                locals.ok().map(|locals| (locals, first, second))
            }
            _ => None,
        };
        let Some((locals, first, second)) = locals else { return self.call(helper, site) };
        let (operands, behind) = locals.split_at(3);
        let mut code = site.code();
        for &local in operands.iter().rev() {
            code.local_set(local);
        }
        // Where the first byte is; of two the one that is nearer to the end of the guest's part, or behind it.
        match (first, second) {
            (true, true) => {
                for (&address, &behind) in operands.iter().zip(behind) {
                    code.behind_annex(address);
                    code.local_tee(behind);
                }
                code.local_get(behind[0]).local_get(behind[1]).i32_gt_u().select();
            }
            (true, false) => code.behind_annex(operands[0]),
            _ => code.behind_annex(operands[1]),
        }
        code.i64_extend_i32_u().local_get(operands[2]).i64_extend_i32_u().i64_add();
        code.room();
        code.i64_gt_u();
        site.unlikely_if();
        let mut code = site.code();
        for &local in operands {
            code.local_get(local);
        }
        self.call(helper, site);
        let mut code = site.code();
        code.drop().drop().drop().end();
        for &local in operands {
            code.local_get(local);
        }
    }

    fn call(&self, helper: Helper, site: &mut Site<'_, '_>) {
        let function = self.added.index(site.survey, helper).expect("there is a function for every operator");
        site.code().call(function);
    }

    /// Looks at an access.
    fn access(&self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        let Some(access) = Access::of(operator).filter(|access| self.is_at(&access.memarg, site)) else {
            return Ok(());
        };
        let reach = if self.added.bounds { self.reach(&access, site.at) } else { None };
        if self.added.bounds && reach.is_none() {
            return Ok(());
        }
        let above = (1..).zip(access.above);
        let locals = above.map(|(number, &ty)| site.scratch(ty, number)).collect::<Result<Vec<u32>>>()?;
        for &local in locals.iter().rev() {
            site.code().local_set(local);
        }
        match reach {
            Some(reach) => compare(reach, site)?,
            None => {
                let (offset, width) = (access.memarg.offset.cast_signed(), access.width().cast_signed());
                site.code().i64_const(offset).i64_const(width);
                self.call(Helper::Access, site);
            }
        }
        for &local in &locals {
            site.code().local_get(local);
        }
        Ok(())
    }

    /// What is compared before an access.
    fn reach(&self, access: &Access, at: u32) -> Option<Reach> {
        match self.checks.binary_search_by_key(&at, |check| check.at) {
            Ok(place) => self.checks[place].reach,
            Err(_) => {
                let start = access.memarg.offset.cast_signed();
                Some(Reach { start, end: start.saturating_add(access.width().cast_signed()) })
            }
        }
    }
}

/// Compares where what is accessed ends with the end of the guest's part, and if it is beyond, traps unless it begins
/// in the annex. The address, of 32 bits, is on the stack, and stays there.
fn compare(reach: Reach, site: &mut Site<'_, '_>) -> Result<()> {
    let address = site.scratch(ValType::I32, 0)?;
    let mut code = site.code();
    code.local_tee(address).i64_extend_i32_u().i64_const(reach.end).i64_add();
    code.guest_end();
    code.i64_gt_s();
    site.unlikely_if();
    let mut code = site.code();
    code.local_get(address).i64_extend_i32_u().i64_const(reach.start).i64_add();
    code.annex();
    code.i64_lt_s();
    site.unlikely_if();
    let mut code = site.code();
    code.out_of_bounds();
    code.end().end().local_get(address);
    Ok(())
}

/// The same place, for an atomic operator of so many bytes, as a power of two.
fn encoded(memarg: &MemArg, align: u32) -> wasm_encoder::MemArg {
    let target = match memarg.target {
        MemArgTarget::Memory(memory) => wasm_encoder::MemArgTarget::Memory(memory),
        MemArgTarget::Array(index) => wasm_encoder::MemArgTarget::Array(index),
    };
    wasm_encoder::MemArg { offset: memarg.offset, align, target, ordering: None }
}

fn at_start(memarg: &MemArg) -> wasm_encoder::MemArg {
    wasm_encoder::MemArg { offset: 0, ..encoded(memarg, memarg.max_align.into()) }
}
