//! Random programs that compute with NaNs and let them go everywhere.

use crate::execution::Random;
use std::fmt::Write as _;

const TYPES: [&str; 5] = ["i32", "i64", "f32", "f64", "v128"];
/// Locals of each type, behind the parameters.
const LOCALS: u64 = 3;
const FUNCTIONS: usize = 4;
/// Loops in a function, each with its counter.
const LOOPS_MAX: usize = 4;

/// A module in text. All of its functions end, and call only those before them.
pub(crate) fn program(random: &mut Random) -> String {
    let mut out = String::from("(module (memory (export \"memory\") 1) (tag $e (param f64 f32))\n");
    for ty in TYPES {
        let zero = if ty == "v128" { "i64x2 0 0" } else { "0" };
        let _ = writeln!(out, "(global $g_{ty} (export \"g_{ty}\") (mut {ty}) ({ty}.const {zero}))");
    }
    let mut functions = Vec::new();
    for number in 0..FUNCTIONS {
        let params: Vec<&str> = (0..random.below(4)).map(|_| TYPES[random.below(5) as usize]).collect();
        let result = TYPES[random.below(5) as usize];
        let mut body = Body { random, functions: &functions, params: &params, loops: 0, steps: 60 };
        let mut code = String::new();
        for _ in 0..6 {
            code += &body.statement(3);
        }
        code += &body.expression(result, 4);
        let _ = write!(out, "(func $f{number} (export \"f{number}\") (param {}) (result {result})", params.join(" "));
        for ty in TYPES {
            (0..LOCALS).for_each(|local| _ = write!(out, " (local ${ty}_{local} {ty})"));
        }
        (0..LOOPS_MAX).for_each(|number| _ = write!(out, " (local $n{number} i32)"));
        let _ = writeln!(out, "\n{code})");
        functions.push((params, result));
    }
    out + ")"
}

struct Body<'a> {
    random: &'a mut Random,
    functions: &'a [(Vec<&'static str>, &'static str)],
    params: &'a [&'static str],
    loops: usize,
    /// Expressions that may still have operands.
    steps: u32,
}

impl Body<'_> {
    fn choose<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    fn local(&mut self, ty: &str) -> String {
        let params: Vec<usize> = (0..self.params.len()).filter(|&at| self.params[at] == ty).collect();
        match self.random.below(LOCALS + params.len() as u64) {
            number if number < LOCALS => format!("${ty}_{number}"),
            number => params[(number - LOCALS) as usize].to_string(),
        }
    }

    fn constant(&mut self, ty: &str) -> String {
        let f32s = ["nan", "-nan", "nan:0x200000", "-nan:0x1", "nan:0x7fffff", "inf", "-inf", "0", "-0", "1.5", "3e38"];
        let f64s = [
            "nan",
            "-nan",
            "nan:0x4000000000000",
            "-nan:0x1",
            "nan:0xfffffffffffff",
            "inf",
            "-inf",
            "0",
            "-0",
            "1.5",
            "1e308",
        ];
        match ty {
            "f32" => format!("f32.const {} ", self.choose(&f32s)),
            "f64" => format!("f64.const {} ", self.choose(&f64s)),
            "v128" => match self.random.below(3) {
                0 => "v128.const i64x2 0 0 ".to_owned(),
                1 => format!("v128.const f64x2 {} {} ", self.choose(&f64s), self.choose(&f64s)),
                _ => {
                    let lanes = [(); 4].map(|()| self.choose(&f32s));
                    format!("v128.const f32x4 {} ", lanes.join(" "))
                }
            },
            _ => format!("{ty}.const {} ", self.random.below(5)),
        }
    }

    fn address(&mut self) -> String {
        format!("i32.const {} ", 8 * self.random.below(8))
    }

    /// A loop's counter, and the test at its end.
    fn counter(&mut self) -> Option<(usize, String)> {
        let number = self.loops;
        self.loops += 1;
        (number < LOOPS_MAX).then(|| {
            (number, format!("local.get $n{number} i32.const 1 i32.sub local.tee $n{number} i32.const 0 i32.gt_s "))
        })
    }

    fn statement(&mut self, depth: u32) -> String {
        let ty = TYPES[self.random.below(5) as usize];
        match self.random.below(if depth == 0 { 4 } else { 10 }) {
            0 | 1 => format!("{} local.set {} ", self.expression(ty, 3), self.local(ty)),
            2 => format!("{} {} {ty}.store ", self.address(), self.expression(ty, 3)),
            3 => format!("{} global.set $g_{ty} ", self.expression(ty, 2)),
            4 => format!(
                "{} if {} else {} end ",
                self.expression("i32", 1),
                self.statement(depth - 1),
                self.statement(depth - 1)
            ),
            5 | 6 => {
                let Some((number, again)) = self.counter() else { return String::new() };
                let body = self.statement(depth - 1) + &self.statement(depth - 1);
                format!("i32.const 2 local.set $n{number} loop {body} {again} br_if 0 end ")
            }
            7 => format!(
                "block {} {} br_if 0 {} end ",
                self.statement(depth - 1),
                self.expression("i32", 1),
                self.statement(depth - 1)
            ),
            8 => format!(
                "block (result f64 f32) {} {} {} br_if 0 drop drop {} {} end local.set {} local.set {} ",
                self.expression("f64", 2),
                self.expression("f32", 2),
                self.expression("i32", 1),
                self.expression("f64", 2),
                self.expression("f32", 2),
                self.local("f32"),
                self.local("f64")
            ),
            _ if self.random.below(4) > 0 => String::new(),
            _ => format!(
                "block (result f64 f32) try_table (catch $e 0) {} {} if {} {} throw $e end {} end {} {} end local.set {} local.set {} ",
                self.statement(depth - 1),
                self.expression("i32", 1),
                self.expression("f64", 2),
                self.expression("f32", 2),
                self.statement(depth - 1),
                self.expression("f64", 1),
                self.expression("f32", 1),
                self.local("f32"),
                self.local("f64")
            ),
        }
    }

    fn expression(&mut self, ty: &'static str, depth: u32) -> String {
        self.steps = self.steps.saturating_sub(1);
        let leaf = depth == 0 || self.steps == 0;
        match self.random.below(if leaf { 4 } else { 20 }) {
            0 => self.constant(ty),
            1..=3 => format!("local.get {} ", self.local(ty)),
            4 => format!("{} {ty}.load ", self.address()),
            5 => format!("global.get $g_{ty} "),
            6 => format!("{} local.tee {} ", self.expression(ty, depth - 1), self.local(ty)),
            7 => {
                let select =
                    if self.random.below(2) == 0 { "select".to_owned() } else { format!("select (result {ty})") };
                let (first, second) = (self.expression(ty, depth - 1), self.expression(ty, depth - 1));
                format!("{first} {second} {} {select} ", self.expression("i32", 1))
            }
            8 => self.nested(ty, depth - 1),
            9 => match self.random.below(FUNCTIONS as u64) as usize {
                number if self.functions.get(number).is_some_and(|(_, result)| *result == ty) => {
                    let params = self.functions[number].0.clone();
                    let arguments: String = params.into_iter().map(|ty| self.expression(ty, depth - 1)).collect();
                    format!("{arguments} call $f{number} ")
                }
                _ => self.operation(ty, depth - 1),
            },
            _ => self.operation(ty, depth - 1),
        }
    }

    /// Blocks that give a value.
    fn nested(&mut self, ty: &'static str, depth: u32) -> String {
        let (first, second) = (self.expression(ty, depth), self.expression(ty, depth));
        let condition = self.expression("i32", 1);
        match self.random.below(5) {
            0 => format!("block (result {ty}) {first} {condition} br_if 0 drop {second} end "),
            1 => format!("{condition} if (result {ty}) {first} else {second} end "),
            2 => format!(
                "block (result {ty}) block (result {ty}) {first} {condition} br_table 0 1 0 end drop {second} end "
            ),
            3 => match self.counter() {
                Some((number, again)) => {
                    let local = self.local(ty);
                    format!(
                        "{first} i32.const 2 local.set $n{number} loop (param {ty}) (result {ty}) local.set {local} {second} {again} \
                         br_if 0 end "
                    )
                }
                None => first,
            },
            _ => format!("{first} {condition} if (param {ty}) (result {ty}) drop {second} end "),
        }
    }

    fn operation(&mut self, ty: &'static str, depth: u32) -> String {
        let take = |body: &mut Self, ty| body.expression(ty, depth);
        match ty {
            "f32" | "f64" => {
                let other = if ty == "f32" { "f64" } else { "f32" };
                match self.random.below(8) {
                    0 => {
                        let operator = self.choose(&["neg", "abs", "sqrt", "ceil", "nearest"]);
                        format!("{} {ty}.{operator} ", take(self, ty))
                    }
                    1 if ty == "f32" => format!("{} f32.demote_f64 ", take(self, other)),
                    1 => format!("{} f64.promote_f32 ", take(self, other)),
                    2 if ty == "f32" => format!("{} f32.reinterpret_i32 ", take(self, "i32")),
                    2 => format!("{} f64.reinterpret_i64 ", take(self, "i64")),
                    3 => format!("{} {ty}.convert_i32_s ", take(self, "i32")),
                    4 => format!("{} {ty}x{}.extract_lane 1 ", take(self, "v128"), if ty == "f32" { 4 } else { 2 }),
                    _ => {
                        let operator =
                            self.choose(&["add", "sub", "mul", "div", "min", "max", "copysign", "sub", "mul"]);
                        format!("{} {} {ty}.{operator} ", take(self, ty), take(self, ty))
                    }
                }
            }
            "i32" => match self.random.below(5) {
                0 => format!("{} i32.reinterpret_f32 i32.const 24 i32.shr_u ", take(self, "f32")),
                1 => format!("{} i32.trunc_sat_f64_s i32.const 3 i32.and ", take(self, "f64")),
                2 => format!("{} {} f64.lt ", take(self, "f64"), take(self, "f64")),
                3 => format!("{} i32x4.extract_lane 3 i32.const 30 i32.shr_u ", take(self, "v128")),
                _ => format!("{} {} f32.ne ", take(self, "f32"), take(self, "f32")),
            },
            "i64" => match self.random.below(3) {
                0 => format!("{} i64.extend_i32_u ", take(self, "i32")),
                _ => format!("{} i64.reinterpret_f64 ", take(self, "f64")),
            },
            _ => self.vector(depth),
        }
    }

    fn vector(&mut self, depth: u32) -> String {
        let shape = self.choose(&["f32x4", "f64x2"]);
        let lane = if shape == "f32x4" { "f32" } else { "f64" };
        let mut take = || self.expression("v128", depth);
        let (first, second) = (take(), take());
        match self.random.below(9) {
            0 => format!("{} {shape}.splat ", self.expression(lane, depth)),
            1 => format!("{first} {} {shape}.replace_lane 0 ", self.expression(lane, depth)),
            2 => format!("{first} {shape}.{} ", self.choose(&["neg", "abs", "sqrt", "floor"])),
            3 => format!("{first} {} ", self.choose(&["f32x4.demote_f64x2_zero", "f64x2.promote_low_f32x4"])),
            4 => format!("{first} {second} v128.{} ", self.choose(&["xor", "and", "or", "andnot"])),
            5 => format!(
                "{first} {second} {} {shape}.{} ",
                self.expression("v128", depth),
                self.choose(&["relaxed_madd", "relaxed_nmadd"])
            ),
            _ => {
                let operator = self.choose(&["add", "mul", "div", "min", "max", "pmin", "lt", "relaxed_min"]);
                format!("{first} {second} {shape}.{operator} ")
            }
        }
    }
}
