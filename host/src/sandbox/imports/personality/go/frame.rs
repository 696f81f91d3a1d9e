//! What a function sees that Go calls: the stack from where the stack pointer is, and values that are held by
//! references. Numbers of 64 bits are two for JavaScript, which makes no difference as far as it is exact.

use crate::sandbox::imports::personality::guest::Guest;
use crate::sandbox::wasi::js_heap::{Body, Heap, Task, TooMuch, Value};
use std::sync::Arc;
use wasmtime::Trap;

/// What an object or a property is, in units of fuel.
const VALUE_WORK: u64 = 128;

/// Why a function does not return.
pub(super) enum Stop {
    /// It throws a value, which Go can catch.
    Thrown(Value),
    /// The execution ends.
    Ended(wasmtime::Error),
}

impl From<wasmtime::Error> for Stop {
    fn from(error: wasmtime::Error) -> Self {
        Self::Ended(error)
    }
}

pub(super) type Called = Result<Value, Stop>;

/// What a function of Node's found out: a value, or the number of an error.
pub(super) type Answer = Result<Result<Value, i32>, Stop>;

/// What a function of Node's does later, with its parameters but for the callback.
pub(super) type Later = for<'g, 'a, 'c> fn(&mut Js<'g, 'a, 'c>, &[Value]) -> Answer;

/// A function of JavaScript's: with `this`, and what it is given.
pub(super) type Native = for<'g, 'a, 'c> fn(&mut Js<'g, 'a, 'c>, &Value, &[Value]) -> Called;

/// A call of Go's.
pub(super) struct Js<'g, 'a, 'c> {
    pub(super) guest: &'g mut Guest<'a, 'c>,
    sp: u32,
}

impl<'g, 'a, 'c> Js<'g, 'a, 'c> {
    /// A call whose parameter is the stack pointer. Nothing is in anybody's hands, unless the program was called by a
    /// function of ours.
    pub(super) fn new(guest: &'g mut Guest<'a, 'c>) -> wasmtime::Result<Self> {
        let sp = guest.number(0);
        let host = guest.caller.data_mut();
        if host.nested == 0 {
            let looks = host.wasi.js_heap().collect();
            host.wasi.worked(16 * looks as u64)?;
        }
        Ok(Self { guest, sp })
    }

    pub(super) fn heap(&mut self) -> &mut Heap {
        self.guest.caller.data_mut().wasi.js_heap()
    }

    /// Charges for work in proportion to so many bytes or values.
    pub(super) fn worked(&mut self, units: usize) -> wasmtime::Result<()> {
        Ok(self.guest.caller.data_mut().wasi.worked(units as u64)?)
    }

    /// What the program may have, or the end of the execution.
    pub(super) fn had<T>(&mut self, result: Result<T, TooMuch>) -> wasmtime::Result<T> {
        self.guest.caller.data_mut().wasi.worked(VALUE_WORK)?;
        result.map_err(|TooMuch| self.guest.thrown("the program holds too many values of JavaScript"))
    }

    /// After the program was called, which may have another stack.
    pub(super) fn moved(&mut self) -> wasmtime::Result<()> {
        if let Some(getsp) = self.guest.export("getsp") {
            self.sp = self.guest.call(getsp, &[])?;
        }
        Ok(())
    }

    fn at(&self, offset: u32) -> wasmtime::Result<u32> {
        Ok(self.sp.checked_add(offset).ok_or(Trap::MemoryOutOfBounds)?)
    }

    pub(super) fn int64(&mut self, offset: u32) -> wasmtime::Result<i64> {
        let at = self.at(offset)?;
        self.int64_at(at)
    }

    fn int64_at(&mut self, at: u32) -> wasmtime::Result<i64> {
        let bytes = self.guest.bytes(at, 8)?;
        Ok(i64::from_le_bytes(bytes.try_into().expect("8 bytes")))
    }

    pub(super) fn int32(&mut self, offset: u32) -> wasmtime::Result<i32> {
        let bytes = self.guest.bytes(self.at(offset)?, 4)?;
        Ok(i32::from_le_bytes(bytes.try_into().expect("4 bytes")))
    }

    pub(super) fn set(&mut self, offset: u32, bytes: &[u8]) -> wasmtime::Result<()> {
        self.guest.write(self.at(offset)?, bytes)
    }

    pub(super) fn set_int64(&mut self, offset: u32, value: i64) -> wasmtime::Result<()> {
        self.set(offset, &value.to_le_bytes())
    }

    /// The value of a reference on the stack.
    pub(super) fn value(&mut self, offset: u32) -> wasmtime::Result<Value> {
        let reference = self.int64(offset)?.cast_unsigned();
        Ok(self.heap().value(reference))
    }

    /// Stores a reference to a value, of which `is_function` tells its type.
    pub(super) fn set_value(&mut self, offset: u32, value: &Value, is_function: bool) -> wasmtime::Result<()> {
        let flag = match value {
            Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::Text(text) => {
                self.worked(text.len() / 8)?;
                2
            }
            Value::Builtin(_) | Value::Object(_) if is_function => 4,
            Value::Builtin(_) | Value::Object(_) => 1,
        };
        let held = self.heap().hold(value, flag);
        let reference = self.had(held)?;
        self.set(offset, &reference.to_le_bytes())
    }

    /// Where a slice on the stack begins, and how long it is.
    pub(super) fn slice(&mut self, offset: u32) -> wasmtime::Result<(u32, u32)> {
        let small = |number: i64| u32::try_from(number).map_err(|_| Trap::MemoryOutOfBounds);
        Ok((small(self.int64(offset)?)?, small(self.int64(offset + 8)?)?))
    }

    pub(super) fn bytes(&mut self, offset: u32) -> wasmtime::Result<Vec<u8>> {
        let (at, len) = self.slice(offset)?;
        self.guest.bytes(at, len)
    }

    pub(super) fn text(&mut self, offset: u32) -> wasmtime::Result<Arc<str>> {
        let (at, len) = self.slice(offset)?;
        self.guest.text(at, len)
    }

    /// A slice of references.
    pub(super) fn values(&mut self, offset: u32) -> wasmtime::Result<Vec<Value>> {
        let (at, count) = self.slice(offset)?;
        let bytes = self.guest.bytes(at, count.checked_mul(8).ok_or(Trap::MemoryOutOfBounds)?)?;
        self.worked(bytes.len())?;
        let references = bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        Ok(references.map(|reference| self.heap().value(reference)).collect())
    }

    /// A text, which is counted.
    pub(super) fn make_text(&mut self, text: &str) -> wasmtime::Result<Value> {
        self.worked(text.len())?;
        let taken = self.heap().take(text.len());
        self.had(taken)?;
        Ok(Value::Text(text.into()))
    }

    pub(super) fn make(&mut self, class: &'static str, body: Body) -> wasmtime::Result<Value> {
        let size = match &body {
            Body::List(list) => list.len() * 16,
            Body::Bytes(bytes) => bytes.len() / 8,
            Body::Plain | Body::Callback(_) => 0,
        };
        self.worked(size)?;
        let made = self.heap().make(class, body);
        self.had(made)
    }

    /// An object with properties.
    pub(super) fn make_with(&mut self, class: &'static str, properties: &[(&str, Value)]) -> wasmtime::Result<Value> {
        let object = self.make(class, Body::Plain)?;
        for (name, value) in properties {
            self.set_property(&object, name, value.clone())?;
        }
        Ok(object)
    }

    pub(super) fn set_property(&mut self, of: &Value, name: &str, value: Value) -> wasmtime::Result<()> {
        let set = self.heap().set(of, name, value);
        self.had(set)
    }

    pub(super) fn later(&mut self, function: Value, args: Vec<Value>) -> wasmtime::Result<()> {
        let kept = self.heap().later(Task { function, args });
        self.had(kept)
    }

    /// An error of JavaScript's.
    pub(super) fn error(&mut self, class: &'static str, message: &str) -> wasmtime::Result<Value> {
        let message = self.make_text(message)?;
        let name = self.make_text(class)?;
        self.make_with(class, &[("name", name), ("message", message)])
    }

    /// The end of a function that throws such an error.
    pub(super) fn throws(&mut self, class: &'static str, message: &str) -> Stop {
        match self.error(class, message) {
            Ok(error) => Stop::Thrown(error),
            Err(error) => Stop::Ended(error),
        }
    }
}

/// A parameter; undefined if it was not given.
pub(super) fn arg(args: &[Value], index: usize) -> &Value {
    args.get(index).unwrap_or(&Value::Undefined)
}
