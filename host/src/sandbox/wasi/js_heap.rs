//! What a program that Go's compiler made for JavaScript sees of that: values, which of them it holds by numbers, and
//! what is to happen later. Restored with all else.
//!
//! A number that it holds is a *reference*: the bits of a float, or of a NaN that has the place of a value. Objects are
//! on a heap that is collected, but only where no function of the host's has values in its hands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A value of JavaScript.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sandbox) enum Value {
    Undefined,
    Null,
    Bool(bool),
    /// A number's bits.
    Number(u64),
    Text(Arc<str>),
    /// What is there from the start, by its place in the table of it.
    Builtin(u16),
    /// What was made, by its place on the heap.
    Object(u32),
}

impl Value {
    pub(in crate::sandbox) fn number(number: f64) -> Self {
        Self::Number(number.to_bits())
    }

    /// The number that it is; NaN if it is none.
    pub(in crate::sandbox) fn as_number(&self) -> f64 {
        if let Self::Number(bits) = self { f64::from_bits(*bits) } else { f64::NAN }
    }
}

/// What an object is beside its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Body {
    Plain,
    List(Vec<Value>),
    /// A `Uint8Array`.
    Bytes(Vec<u8>),
    /// A function of the program's, by its number.
    Callback(u32),
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Object {
    /// The name of what it is an instance of.
    pub(in crate::sandbox) class: &'static str,
    pub(in crate::sandbox) properties: BTreeMap<Arc<str>, Value>,
    pub(in crate::sandbox) body: Body,
}

impl Object {
    /// What it takes, in bytes.
    fn bytes(&self) -> usize {
        let texts = self.properties.iter().map(|(name, value)| ENTRY_BYTES + name.len() + bytes_of(value));
        let body = match &self.body {
            Body::List(list) => list.iter().map(|value| size_of::<Value>() + bytes_of(value)).sum(),
            Body::Bytes(bytes) => bytes.len(),
            Body::Plain | Body::Callback(_) => 0,
        };
        OBJECT_BYTES + texts.sum::<usize>() + body
    }
}

fn bytes_of(value: &Value) -> usize {
    if let Value::Text(text) = value { text.len() } else { 0 }
}

/// What is called later, and what it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Task {
    pub(in crate::sandbox) function: Value,
    pub(in crate::sandbox) args: Vec<Value>,
}

/// Charged for an object, for a property or a reference besides its text.
const OBJECT_BYTES: usize = 128;
const ENTRY_BYTES: usize = 64;
/// More bytes are refused.
const BYTES_MAX: usize = 64 << 20;
/// Twice what there was after the last collection, and so many bytes more, is worth another.
const SPARE_BYTES: usize = 4 << 20;

/// The first reference that is not to one of the values that all programs hold: NaN, 0, null, true, false, what is
/// global, and the instance of `Go`.
const FIRST: u32 = 7;
/// Those two, by their places in the table of builtins.
pub(in crate::sandbox) const GLOBAL: u16 = 0;
pub(in crate::sandbox) const INSTANCE: u16 = 1;

/// The upper half of a reference's bits.
const HEAD: u64 = 0x7ff8_0000 << 32;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::sandbox) struct Heap {
    objects: Vec<Option<Object>>,
    free: Vec<u32>,
    /// What the program changed of builtins.
    pub(in crate::sandbox) changed_builtins: BTreeMap<(u16, Arc<str>), Value>,
    /// Values that the program holds, and how often.
    held: Vec<Option<(Value, u64)>>,
    held_free: Vec<u32>,
    held_at: BTreeMap<Value, u32>,
    tasks: VecDeque<Task>,
    /// By time and number: what is called; `None` if the program itself waits.
    timers: BTreeMap<(u64, u32), Option<Value>>,
    times: BTreeMap<u32, u64>,
    last_timer: u32,
    /// A timer of the program's whose time has come, until the program says that it knows.
    due: Option<u32>,
    /// Nothing is left to happen, and the program was told.
    pub(in crate::sandbox) is_over: bool,
    /// The directory that paths are relative to, if it is not the root.
    pub(in crate::sandbox) directory: Option<Arc<str>>,
    /// What all of it takes, as far as it was counted since the last collection.
    bytes: usize,
    bytes_before: usize,
    changed: bool,
}

/// The program holds too much.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) struct TooMuch;

/// What the time has come for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Due {
    Call(Task),
    /// The program waits until this time, since the start of the execution, in nanoseconds.
    Wait(u64, Option<Value>),
}

impl Heap {
    /// Counts bytes that something is about to take.
    pub(in crate::sandbox) fn take(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.changed = true;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > BYTES_MAX { Err(TooMuch) } else { Ok(()) }
    }

    /// Makes an object.
    pub(in crate::sandbox) fn make(&mut self, class: &'static str, body: Body) -> Result<Value, TooMuch> {
        let object = Object { class, properties: BTreeMap::new(), body };
        self.take(object.bytes())?;
        Ok(Value::Object(match self.free.pop() {
            Some(place) => {
                self.objects[place as usize] = Some(object);
                place
            }
            None => {
                self.objects.push(Some(object));
                self.objects.len() as u32 - 1
            }
        }))
    }

    /// The object that a value is.
    pub(in crate::sandbox) fn object(&self, value: &Value) -> Option<&Object> {
        let Value::Object(place) = value else { return None };
        self.objects.get(*place as usize)?.as_ref()
    }

    /// The object that a value is, to be changed. What is put there is counted by [`Heap::take`].
    pub(in crate::sandbox) fn object_mut(&mut self, value: &Value) -> Option<&mut Object> {
        let Value::Object(place) = value else { return None };
        self.changed = true;
        self.objects.get_mut(*place as usize)?.as_mut()
    }

    /// Sets a property of an object or a builtin; of anything else nothing.
    pub(in crate::sandbox) fn set(&mut self, of: &Value, name: &str, value: Value) -> Result<(), TooMuch> {
        self.take(ENTRY_BYTES + name.len() + bytes_of(&value))?;
        if let Value::Builtin(place) = of {
            self.changed_builtins.insert((*place, name.into()), value);
        } else if let Some(object) = self.object_mut(of) {
            object.properties.insert(name.into(), value);
        }
        Ok(())
    }

    /// Removes a property.
    pub(in crate::sandbox) fn delete(&mut self, of: &Value, name: &str) -> Result<(), TooMuch> {
        if let Value::Builtin(_) = of {
            return self.set(of, name, Value::Undefined);
        }
        if let Some(object) = self.object_mut(of) {
            object.properties.remove(name);
        }
        Ok(())
    }

    /// Gives the program a reference. `flag` is that of the value's type: 1 an object, 2 a text, 4 a function, else 0.
    pub(in crate::sandbox) fn hold(&mut self, value: &Value, flag: u64) -> Result<u64, TooMuch> {
        let number = value.as_number();
        let place = match value {
            Value::Undefined => return Ok(0),
            Value::Number(_) if number.is_nan() => return Ok(HEAD),
            Value::Number(_) if number == 0.0 => 1,
            Value::Number(bits) => return Ok(*bits),
            Value::Null => 2,
            Value::Bool(value) => 4 - u32::from(*value),
            Value::Builtin(GLOBAL) => 5,
            Value::Builtin(INSTANCE) => 6,
            _ => self.place_of(value)?,
        };
        Ok(HEAD | flag << 32 | u64::from(place))
    }

    fn place_of(&mut self, value: &Value) -> Result<u32, TooMuch> {
        self.changed = true;
        if let Some(place) = self.held_at.get(value) {
            if let Some((_, count)) = &mut self.held[*place as usize] {
                *count += 1;
            }
            return Ok(FIRST + place);
        }
        self.take(ENTRY_BYTES + 2 * bytes_of(value))?;
        let new = Some((value.clone(), 1));
        let place = match self.held_free.pop() {
            Some(place) => {
                self.held[place as usize] = new;
                place
            }
            None => {
                self.held.push(new);
                self.held.len() as u32 - 1
            }
        };
        self.held_at.insert(value.clone(), place);
        Ok(FIRST + place)
    }

    /// The value of a reference; of one that was never given, undefined.
    pub(in crate::sandbox) fn value(&self, reference: u64) -> Value {
        let number = f64::from_bits(reference);
        if number == 0.0 {
            return Value::Undefined;
        }
        if !number.is_nan() {
            return Value::Number(reference);
        }
        match reference as u32 {
            0 => Value::number(f64::NAN),
            1 => Value::number(0.0),
            2 => Value::Null,
            3 => Value::Bool(true),
            4 => Value::Bool(false),
            5 => Value::Builtin(GLOBAL),
            6 => Value::Builtin(INSTANCE),
            place => {
                let held = self.held.get((place - FIRST) as usize).and_then(Option::as_ref);
                held.map_or(Value::Undefined, |(value, _)| value.clone())
            }
        }
    }

    /// Takes a reference back.
    pub(in crate::sandbox) fn let_go(&mut self, place: u32) {
        let Some(place) = place.checked_sub(FIRST) else { return };
        self.changed = true;
        let Some(held) = self.held.get_mut(place as usize) else { return };
        let Some((_, count)) = held else { return };
        *count = count.saturating_sub(1);
        if *count == 0
            && let Some((value, _)) = held.take()
        {
            self.held_at.remove(&value);
            self.held_free.push(place);
        }
    }

    /// Has something called when the program waits.
    pub(in crate::sandbox) fn later(&mut self, task: Task) -> Result<(), TooMuch> {
        self.take(OBJECT_BYTES + task.args.iter().map(|value| ENTRY_BYTES + bytes_of(value)).sum::<usize>())?;
        self.tasks.push_back(task);
        Ok(())
    }

    /// What is called next, if that is what happens next.
    pub(in crate::sandbox) fn first(&self) -> Option<&Task> {
        self.tasks.front().filter(|_| self.due.is_none())
    }

    /// Has something called at a time, or the program go on; the timer's number.
    pub(in crate::sandbox) fn at(&mut self, time: u64, function: Option<Value>) -> Result<u32, TooMuch> {
        self.take(OBJECT_BYTES)?;
        self.last_timer = self.last_timer.wrapping_add(1);
        self.timers.insert((time, self.last_timer), function);
        self.times.insert(self.last_timer, time);
        Ok(self.last_timer)
    }

    /// Forgets a timer.
    pub(in crate::sandbox) fn clear(&mut self, timer: u32) {
        self.changed = true;
        self.due = self.due.filter(|due| *due != timer);
        if let Some(time) = self.times.remove(&timer) {
            self.timers.remove(&(time, timer));
        }
    }

    /// What happens next: the program goes on whose time has come, else what was to be called first, else the timer
    /// that is first. `None` if nothing is left.
    pub(in crate::sandbox) fn next(&mut self) -> Option<Due> {
        self.changed = true;
        if self.due.is_some() {
            return Some(Due::Wait(0, None));
        }
        if let Some(task) = self.tasks.pop_front() {
            return Some(Due::Call(task));
        }
        let ((time, timer), function) = self.timers.pop_first()?;
        self.times.remove(&timer);
        self.due = Some(timer).filter(|_| function.is_none());
        Some(Due::Wait(time, function))
    }

    /// Frees what nobody can reach, if there is so much that it is worth it; what was looked at. Only for where all
    /// values in use are held, or to be called.
    pub(in crate::sandbox) fn collect(&mut self) -> usize {
        // Where that is too much, half of what is left.
        if self.bytes < (2 * self.bytes_before + SPARE_BYTES).min(self.bytes_before.midpoint(BYTES_MAX)) {
            return 0;
        }
        let held = self.held.iter().flatten().map(|(value, _)| value);
        let tasks = self.tasks.iter().flat_map(|task| std::iter::once(&task.function).chain(&task.args));
        let timers = self.timers.values().flatten();
        let roots = held.chain(tasks).chain(timers).chain(self.changed_builtins.values());
        let mut bytes = 0;
        let mut left = Vec::new();
        for root in roots {
            bytes += ENTRY_BYTES + 2 * bytes_of(root);
            left.extend(if let Value::Object(place) = root { Some(*place) } else { None });
        }
        let mut seen = vec![false; self.objects.len()];
        let mut looks = self.objects.len() + left.len();
        while let Some(place) = left.pop() {
            let Some(Some(object)) = self.objects.get(place as usize) else { continue };
            if std::mem::replace(&mut seen[place as usize], true) {
                continue;
            }
            bytes += object.bytes();
            let list = if let Body::List(list) = &object.body { &list[..] } else { &[] };
            let inner = object.properties.values().chain(list);
            left.extend(inner.filter_map(|value| if let Value::Object(place) = value { Some(*place) } else { None }));
            looks += 1 + list.len() + object.properties.len();
        }
        for (place, object) in self.objects.iter_mut().enumerate() {
            if !seen[place] && object.take().is_some() {
                self.free.push(place as u32);
            }
        }
        (self.bytes, self.bytes_before) = (bytes, bytes);
        looks
    }

    /// Makes this what the other is, which is what it was when it was last restored, or [kept](Heap::keep).
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
    fn references_are_given_counted_and_restored() {
        let mut heap = Heap::default();
        let base = heap.clone();
        let text = Value::Text("a".into());
        let first = heap.hold(&text, 2).unwrap();
        assert_eq!(first, HEAD | 2 << 32 | u64::from(FIRST));
        assert_eq!(heap.hold(&text, 2).unwrap(), first, "equal texts are the same for Go");
        heap.let_go(FIRST);
        assert_eq!(heap.value(first), text);
        heap.let_go(FIRST);
        assert_eq!(heap.value(first), Value::Undefined);
        let object = heap.make("Object", Body::Plain).unwrap();
        assert_eq!(heap.hold(&object, 1).unwrap() as u32, FIRST);
        for value in [Value::Null, Value::Bool(true), Value::number(0.0), Value::number(-1.5), Value::Builtin(GLOBAL)] {
            let reference = heap.hold(&value, 0).unwrap();
            assert_eq!(heap.value(reference), value);
        }
        assert_eq!(heap.hold(&Value::number(f64::NAN), 0).unwrap(), HEAD);
        assert!(heap.take(BYTES_MAX).is_err());
        heap.restore(&base);
        assert_eq!(heap, base);
    }

    #[test]
    fn what_nobody_reaches_is_freed() {
        let mut heap = Heap::default();
        let kept = heap.make("Object", Body::Plain).unwrap();
        let inner = heap.make("Array", Body::List(vec![kept.clone()])).unwrap();
        heap.set(&kept, "inner", inner.clone()).unwrap();
        heap.hold(&inner, 1).unwrap();
        for _ in 0..1000 {
            for _ in 0..100 {
                heap.make("Uint8Array", Body::Bytes(vec![0; 1000])).unwrap();
            }
            heap.collect();
        }
        assert!(heap.object(&kept).is_some() && heap.object(&inner).is_some());
        assert!(heap.objects.len() < 20_000, "{}", heap.objects.len());
    }

    #[test]
    fn what_happens_next_depends_on_time_alone() {
        let mut heap = Heap::default();
        let (late, soon) = (heap.at(20, None).unwrap(), heap.at(10, Some(Value::Null)).unwrap());
        heap.clear(heap.last_timer + 1);
        let task = Task { function: Value::Null, args: Vec::new() };
        heap.later(task.clone()).unwrap();
        assert_eq!(heap.next(), Some(Due::Call(task)));
        assert_eq!(heap.next(), Some(Due::Wait(10, Some(Value::Null))));
        assert_eq!(heap.next(), Some(Due::Wait(20, None)));
        assert_eq!(heap.next(), Some(Due::Wait(0, None)), "until the program knows");
        heap.clear(late);
        heap.clear(soon);
        assert_eq!(heap.next(), None);
    }
}
