//! Shapes behind a trait: tables of methods lie in data, and point to functions by their places in the table.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use crate::parse::{number, scaled, Error};

pub trait Shape {
    fn area(&self) -> i64;
    fn describe(&self) -> String;
    fn grow(&mut self, by: i64);
}

struct Circle {
    radius: i64,
}

struct Rectangle {
    width: i64,
    height: i64,
}

struct Line {
    length: i64,
}

impl Shape for Circle {
    fn area(&self) -> i64 {
        self.radius.wrapping_mul(self.radius).wrapping_mul(355) / 113
    }

    fn describe(&self) -> String {
        format!("a circle of radius {}", self.radius)
    }

    fn grow(&mut self, by: i64) {
        self.radius = self.radius.wrapping_add(by);
    }
}

impl Shape for Rectangle {
    fn area(&self) -> i64 {
        self.width.wrapping_mul(self.height)
    }

    fn describe(&self) -> String {
        format!("a box of {} by {}", self.width, self.height)
    }

    fn grow(&mut self, by: i64) {
        self.width = self.width.wrapping_add(by);
        self.height = scaled(self.height.wrapping_add(by));
    }
}

impl Shape for Line {
    fn area(&self) -> i64 {
        0
    }

    fn describe(&self) -> String {
        let (unit, length) = units::best(self.length);
        format!("a line, {length} {unit} long")
    }

    fn grow(&mut self, by: i64) {
        self.length = scaled(self.length ^ by);
    }
}

#[inline(never)]
pub fn shape(words: &[&str]) -> Result<Box<dyn Shape>, Error> {
    Ok(match words[0] {
        "circle" => Box::new(Circle { radius: number(words.get(1), "the radius")? }),
        "box" => {
            let width = number(words.get(1), "the width")?;
            Box::new(Rectangle { width, height: number(words.get(2), "the height")? })
        }
        "line" => {
            let factor = words.get(2).map_or(1, |word| units::factor(word));
            Box::new(Line { length: number(words.get(1), "the length")?.wrapping_mul(factor) })
        }
        other => return Err(Error::NoSuchShape(other.to_string())),
    })
}
