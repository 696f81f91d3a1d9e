//! Values of JavaScript that a guest holds by numbers, for hosts that give it some. They are restored with all else.

use std::sync::Arc;

/// A value of JavaScript, as far as guests look into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Value {
    Undefined,
    Null,
    Bool(bool),
    /// A number's bits.
    Number(u64),
    Text(Arc<str>),
    Error(Arc<str>),
    /// A `Uint8Array` of its own.
    Bytes(Arc<[u8]>),
    /// The guest's memory as a `Uint8Array`.
    Memory,
    List(Arc<Vec<u32>>),
    /// Any other object.
    Object,
}

/// Numbers below are reserved: wasm-bindgen has had undefined, null, true and false at 32, 128 and 1024.
const FIRST: u32 = 2048;
/// More values at a time are refused.
const VALUES_MAX: usize = 1 << 16;
/// More bytes in values made by an execution are refused.
const BYTES_MAX: usize = 16 << 20;

/// The values that a guest holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Objects {
    values: Vec<Option<Value>>,
    free: Vec<u32>,
    bytes: usize,
    /// Whether something was given, changed or taken back since the state was restored.
    changed: bool,
}

/// The guest holds too much.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct TooMany;

impl Objects {
    /// Gives the guest a value.
    pub(in super::super) fn give(&mut self, value: Value) -> Result<u32, TooMany> {
        self.bytes += match &value {
            Value::Text(text) | Value::Error(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => 4 * list.len(),
            _ => 0,
        };
        self.changed = true;
        if self.bytes > BYTES_MAX || self.values.len() - self.free.len() >= VALUES_MAX {
            return Err(TooMany);
        }
        Ok(FIRST
            + match self.free.pop() {
                Some(slot) => {
                    self.values[slot as usize] = Some(value);
                    slot
                }
                None => {
                    self.values.push(Some(value));
                    self.values.len() as u32 - 1
                }
            })
    }

    /// The value of a number; of one that was never given, undefined.
    pub(in super::super) fn get(&self, number: u32) -> Value {
        match number {
            33 | 129 | 1025 => Value::Null,
            34 | 130 | 1026 => Value::Bool(true),
            35 | 131 | 1027 => Value::Bool(false),
            _ => self.slot(number).and_then(|slot| self.values[slot].clone()).unwrap_or(Value::Undefined),
        }
    }

    /// A list that was given, to be changed.
    pub(in super::super) fn list(&mut self, number: u32) -> Option<&mut Vec<u32>> {
        self.changed = true;
        match self.slot(number).and_then(|slot| self.values[slot].as_mut()) {
            Some(Value::List(list)) if list.len() < VALUES_MAX => Some(Arc::make_mut(list)),
            _ => None,
        }
    }

    /// Takes a number back.
    pub(in super::super) fn drop(&mut self, number: u32) {
        self.changed = true;
        if let Some(slot) = self.slot(number)
            && self.values[slot].take().is_some()
        {
            self.free.push(slot as u32);
        }
    }

    fn slot(&self, number: u32) -> Option<usize> {
        number.checked_sub(FIRST).map(|slot| slot as usize).filter(|&slot| slot < self.values.len())
    }

    /// Makes this what the other is, which is what it was when it was last restored, or [kept](Objects::keep). Costs
    /// what is there if anything changed since, and else next to nothing: to compare them would cost more than most
    /// executions' other state.
    pub(super) fn restore(&mut self, other: &Self) {
        if std::mem::take(&mut self.changed) {
            self.clone_from(other);
        }
    }

    /// From now on this is what is restored.
    pub(super) fn keep(&mut self) {
        self.changed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_given_again_and_restored() {
        let mut objects = Objects::default();
        let base = objects.clone();
        let first = objects.give(Value::Text("a".into())).unwrap();
        let list = objects.give(Value::List(Arc::default())).unwrap();
        objects.list(list).unwrap().push(first);
        assert_eq!(objects.get(list), Value::List(Arc::new(vec![first])));
        objects.drop(first);
        objects.drop(first);
        assert_eq!(objects.get(first), Value::Undefined);
        assert_eq!(objects.give(Value::Object).unwrap(), first);
        assert_eq!(
            [1025, 130, 0, 5000].map(|number| objects.get(number)),
            [Value::Null, Value::Bool(true), Value::Undefined, Value::Undefined]
        );
        assert!(objects.give(Value::Bytes(vec![0; BYTES_MAX + 1].into())).is_err());
        objects.restore(&base);
        assert_eq!(objects, base);
    }
}
