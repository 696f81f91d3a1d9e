//! All shapes that were drawn.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::parse::{number, words, Error};
use crate::shape::{shape, Shape};

#[derive(Default)]
pub struct Scene {
    named: BTreeMap<String, Box<dyn Shape>>,
    others: Vec<Box<dyn Shape>>,
}

impl Scene {
    #[inline(never)]
    pub fn line(&mut self, line: &str) -> Result<String, Error> {
        let words = words(line);
        match words.as_slice() {
            [] => Ok(String::new()),
            ["sum"] => Ok(format!("{}\n", self.sum())),
            ["largest"] => Ok(self.largest().map_or_else(|| "nothing\n".to_string(), |shape| shape.describe())),
            ["grow", name, rest @ ..] => self.grow(name, number(rest.first(), "how much")?),
            [name, "=", rest @ ..] => {
                let shape = shape(rest)?;
                let said = format!("{name} is {}\n", shape.describe());
                self.named.insert(name.to_string(), shape);
                Ok(said)
            }
            words => {
                let shape = shape(words)?;
                let said = format!("{} is drawn\n", shape.describe());
                self.others.push(shape);
                Ok(said)
            }
        }
    }

    #[inline(never)]
    fn grow(&mut self, name: &str, by: i64) -> Result<String, Error> {
        let shape = self.named.get_mut(name).ok_or_else(|| Error::NoSuchName(name.to_string()))?;
        shape.grow(by);
        Ok(shape.describe())
    }

    #[inline(never)]
    fn sum(&self) -> i64 {
        self.all().fold(0, |sum, shape| sum.wrapping_add(shape.area()))
    }

    #[inline(never)]
    fn largest(&self) -> Option<&dyn Shape> {
        let mut areas: Vec<(i64, usize)> = self.all().enumerate().map(|(place, shape)| (shape.area(), place)).collect();
        areas.sort_unstable();
        self.all().nth(areas[areas.len().checked_sub(1)?].1)
    }

    fn all(&self) -> impl Iterator<Item = &dyn Shape> {
        self.named.values().chain(&self.others).map(|shape| &**shape)
    }

    #[inline(never)]
    pub fn finish(&self, answer: &mut String) {
        for (name, shape) in &self.named {
            let _ = writeln!(answer, "{name}: {}", shape.describe());
        }
        let _ = writeln!(answer, "{} shapes, {} in all", self.named.len() + self.others.len(), self.sum());
    }
}
