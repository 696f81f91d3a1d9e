//! What a function of a personality sees of the module that calls it.

use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::personality::Thrown;
use crate::sandbox::wasi::objects::Value;
use std::sync::Arc;
use wasmtime::{Caller, Extern, Func, Memory, Val, ValType};

/// Work for each byte that is moved, in units of fuel, divided by this.
const BYTES_PER_WORK: u64 = 8;

/// More calls of the guest's functions inside of each other are a stack overflow: each has frames of ours on the stack.
const NESTED_MAX: u32 = 10_000;

/// A function of a personality.
pub(super) type Function = fn(&mut Guest<'_, '_>) -> wasmtime::Result<Reply>;

/// What a function returns, whatever the type is that the module imports it with.
pub(super) enum Reply {
    Nothing,
    Integer(i32),
    Float(f64),
    /// A number for a value of JavaScript.
    Object(Value),
    /// What a function of the module returned.
    Values(Vec<Val>),
}

/// The module that calls, and what it gave.
pub(super) struct Guest<'a, 'c> {
    pub(super) caller: &'a mut Caller<'c, Host>,
    /// The import, for people.
    pub(super) what: &'a str,
    pub(super) params: &'a [Val],
    /// A function of the guest's that was called ended the execution.
    pub(super) inner_ended: bool,
}

impl Guest<'_, '_> {
    /// Charges for the call.
    pub(super) fn begin(&mut self) -> wasmtime::Result<()> {
        Ok(self.caller.data_mut().wasi.called()?)
    }

    pub(super) fn thrown(&self, why: &str) -> wasmtime::Error {
        Thrown::new(self.what, why).into()
    }

    /// As [`Guest::thrown`], where that is how a library returns an error.
    pub(super) fn told(&self, why: &str) -> wasmtime::Error {
        Thrown::told(self.what, why).into()
    }

    /// A parameter's bits; 0 for a reference, and for one that it has not.
    pub(super) fn bits(&self, index: usize) -> u64 {
        match self.params.get(index) {
            Some(Val::I32(value)) => u64::from(value.cast_unsigned()),
            Some(Val::I64(value)) => value.cast_unsigned(),
            Some(Val::F32(bits)) => u64::from(*bits),
            Some(Val::F64(bits)) => *bits,
            _ => 0,
        }
    }

    /// A parameter as a number of 32 bits: an address, a length, an object.
    pub(super) fn number(&self, index: usize) -> u32 {
        self.bits(index) as u32
    }

    /// A parameter as a float, whatever number it is.
    pub(super) fn float(&self, index: usize) -> f64 {
        match self.params.get(index) {
            Some(Val::I32(value)) => f64::from(*value),
            Some(Val::I64(value)) => *value as f64,
            Some(Val::F32(bits)) => f32::from_bits(*bits).into(),
            Some(Val::F64(bits)) => f64::from_bits(*bits),
            _ => 0.0,
        }
    }

    /// The value of JavaScript that a parameter stands for.
    pub(super) fn value(&mut self, index: usize) -> Value {
        let number = self.number(index);
        self.caller.data_mut().wasi.objects().get(number)
    }

    pub(super) fn objects_give(&mut self, value: Value) -> wasmtime::Result<u32> {
        let given = self.caller.data_mut().wasi.objects().give(value);
        given.map_err(|_| self.thrown("the guest holds too many values of JavaScript"))
    }

    fn memory(&self) -> wasmtime::Result<Memory> {
        self.caller.data().memory.ok_or_else(|| wasmtime::Trap::MemoryOutOfBounds.into())
    }

    /// Bytes of the memory that are the guest's.
    pub(super) fn bytes(&mut self, at: u32, len: u32) -> wasmtime::Result<Vec<u8>> {
        self.worked(len)?;
        let memory = self.memory()?;
        let is_there = !self.caller.data().wasi.touches_gap(at, len);
        let bytes = memory.data(&*self.caller).get(at as usize..at as usize + len as usize).filter(|_| is_there);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| wasmtime::Trap::MemoryOutOfBounds.into())
    }

    pub(super) fn write(&mut self, at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
        let len = u32::try_from(bytes.len()).map_err(|_| wasmtime::Trap::MemoryOutOfBounds)?;
        self.worked(len)?;
        let memory = self.memory()?;
        let is_there = !self.caller.data().wasi.touches_gap(at, len);
        let range = at as usize..at as usize + bytes.len();
        let to = memory.data_mut(&mut *self.caller).get_mut(range).filter(|_| is_there);
        to.ok_or(wasmtime::Trap::MemoryOutOfBounds)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_u32(&mut self, at: u32, value: u32) -> wasmtime::Result<()> {
        self.write(at, &value.to_le_bytes())
    }

    /// Text of the guest's; what is no UTF-8 is replaced.
    pub(super) fn text(&mut self, at: u32, len: u32) -> wasmtime::Result<Arc<str>> {
        Ok(String::from_utf8_lossy(&self.bytes(at, len)?).into())
    }

    /// Text of the guest's up to its zero byte.
    pub(super) fn text_to_zero(&mut self, at: u32) -> wasmtime::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes_to_zero(at)?).into_owned())
    }

    /// Bytes up to a zero byte, but not more than a path may have.
    pub(super) fn bytes_to_zero(&mut self, at: u32) -> wasmtime::Result<Vec<u8>> {
        const LEN_MAX: u32 = 4096;
        let mut bytes = Vec::new();
        while (bytes.len() as u32) < LEN_MAX {
            match self.bytes(at.wrapping_add(bytes.len() as u32), 1)?[0] {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(bytes)
    }

    /// Writes what the program says to standard error.
    pub(super) fn say(&mut self, text: &str) -> wasmtime::Result<()> {
        self.caller.data_mut().wasi.say(text)
    }

    /// Charges for a look at all of a text.
    pub(super) fn looked_at(&mut self, value: &Value) -> wasmtime::Result<()> {
        match value {
            Value::Text(text) | Value::Error(text) => self.worked(u32::try_from(text.len()).unwrap_or(u32::MAX)),
            _ => Ok(()),
        }
    }

    fn worked(&mut self, bytes: u32) -> wasmtime::Result<()> {
        Ok(self.caller.data_mut().wasi.worked(u64::from(bytes) / BYTES_PER_WORK)?)
    }

    /// An export of the module that is a function.
    pub(super) fn export(&mut self, name: &str) -> Option<Func> {
        self.caller.get_export(name).and_then(Extern::into_func)
    }

    /// Calls a function of the module with numbers; its first result as bits of an integer.
    pub(super) fn call(&mut self, function: Func, params: &[Val]) -> wasmtime::Result<u32> {
        let results = self.call_any(function, params)?;
        Ok(results.first().and_then(Val::i32).unwrap_or(0).cast_unsigned())
    }

    /// Calls a function of the module with what fits its type.
    pub(super) fn call_any(&mut self, function: Func, params: &[Val]) -> wasmtime::Result<Vec<Val>> {
        self.caller.data_mut().wasi.passed_on(0)?;
        let types: Vec<_> = function.ty(&*self.caller).results().collect();
        let mut results: Vec<Val> = types.iter().map(|ty| Val::default_for_ty(ty).unwrap_or(Val::I32(0))).collect();
        if self.caller.data().nested >= NESTED_MAX {
            return Err(wasmtime::Trap::StackOverflow.into());
        }
        self.caller.data_mut().nested += 1;
        let called = function.call(&mut *self.caller, params, &mut results);
        self.caller.data_mut().nested -= 1;
        self.inner_ended = called.is_err();
        called.map(|()| results)
    }

    /// Values as JavaScript gives them to what has these types: what is too much is left out, and a zero stands for
    /// what is missing or of another type.
    pub(super) fn fitted(
        &self,
        values: &[Val],
        types: impl IntoIterator<Item = ValType>,
    ) -> wasmtime::Result<Vec<Val>> {
        let mut values = values.iter();
        let fit = |ty: ValType| {
            let value = values.next().filter(|value| value.matches_ty(&*self.caller, &ty).unwrap_or(false)).copied();
            value.or_else(|| Val::default_for_ty(&ty)).ok_or_else(|| wasmtime::Trap::BadSignature.into())
        };
        types.into_iter().map(fit).collect()
    }
}
