//! How a property becomes an export and a test.

use crate::value::{ENCODING, Value, to_bytes};
use crate::{Generate, Source};
use core::fmt::Debug;

/// Defines a property: an export for fuzzbox, and natively a test.
///
/// ```
/// # use fuzzbox_guest::{property, Source};
/// property! {
///     /// Drawn by hand.
///     fn reversing_twice(source) {
///         let list = source.vec(0..=9, |source| source.int(-5..=5));
///         let twice: Vec<i32> = list.iter().rev().rev().copied().collect();
///         assert_eq!(list, twice);
///     }
/// }
///
/// property! {
///     /// Drawn by their types, and noted for the report.
///     fn adding_commutes(a: u32, b: u32) {
///         assert_eq!(a.wrapping_add(b), b.wrapping_add(a));
///     }
/// }
///
/// property! {
///     /// In two parts: the value is kept, and can be checked without drawing it.
///     fn parses_what_it_prints(source) -> Vec<i64> {
///         source.draw()
///     }
///     check(numbers) {
///         for number in numbers {
///             assert_eq!(number.to_string().parse(), Ok(number));
///         }
///     }
/// }
/// # fn main() {}
/// ```
///
/// A property called `p` is the function `p`, which takes a [`Source`]. In WebAssembly it is exported as `fbx_p`; in two
/// parts also as `fbx_gen_p`, which draws the value and gives it away, and `fbx_check_p`, which takes its bytes. Natively there is a test
/// `p::holds`, which does what [`native::check`](crate::native::check) says. Attributes, such as `#[should_panic]`, are the test's.
///
/// The names of properties are exports, so they are unique in a module, and end up in the names of findings.
#[macro_export]
macro_rules! property {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($source:ident $(: &mut Source)?) -> $value:ty $generate:block
        check($checked:pat_param) $check:block
    ) => {
        #[allow(dead_code)]
        #[doc = concat!("The property `", stringify!($name), "`, with what it draws from.")]
        $visibility fn $name($source: &mut $crate::Source) {
            $name::check($crate::__private::give($source, $name::generate));
        }

        #[allow(dead_code)]
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            pub(super) fn generate($source: &mut $crate::Source) -> $value $generate

            pub(super) fn check($checked: $value) $check

            $crate::property!(@export $name, super::$name);
            $crate::property!(@export_parts $name);

            #[cfg(all(test, not(target_family = "wasm")))]
            #[test]
            $(#[$attribute])*
            fn holds() {
                let check = |bytes: &[u8]| $crate::value::from_bytes(bytes).map(check).is_some();
                $crate::property!(@test $name, super::$name, Some(&check));
            }
        }
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($source:ident $(: &mut Source)?) $body:block
    ) => {
        #[allow(dead_code)]
        #[doc = concat!("The property `", stringify!($name), "`, with what it draws from.")]
        $visibility fn $name($source: &mut $crate::Source) $body

        $crate::property!(@module $name, [$(#[$attribute])*]);
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $type:ty),+ $(,)?) $body:block
    ) => {
        #[allow(dead_code)]
        #[doc = concat!("The property `", stringify!($name), "`, with what it draws from.")]
        $visibility fn $name(source: &mut $crate::Source) {
            $(let $argument: $type = $crate::__private::draw_noted(source, stringify!($argument));)+
            $body
        }

        $crate::property!(@module $name, [$(#[$attribute])*]);
    };
    (@module $name:ident, [$($attributes:tt)*]) => {
        #[allow(dead_code)]
        mod $name {
            $crate::property!(@export $name, super::$name);

            #[cfg(all(test, not(target_family = "wasm")))]
            #[test]
            $($attributes)*
            fn holds() {
                $crate::property!(@test $name, super::$name, None);
            }
        }
    };
    (@export $name:ident, $property:expr) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = concat!("fbx_", stringify!($name)))]
        extern "C" fn export() {
            $crate::__private::export($property);
        }
    };
    (@export_parts $name:ident) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = concat!("fbx_gen_", stringify!($name)))]
        extern "C" fn export_generate() {
            $crate::__private::export(|source| drop($crate::__private::give(source, generate)));
        }

        #[cfg(target_family = "wasm")]
        #[unsafe(export_name = concat!("fbx_check_", stringify!($name)))]
        extern "C" fn export_check(ptr: usize, len: usize) {
            $crate::__private::export_check(ptr, len, check);
        }
    };
    (@test $name:ident, $property:expr, $check:expr) => {
        $crate::native::check(&$crate::native::Property {
            name: stringify!($name),
            folder: env!("CARGO_MANIFEST_DIR"),
            run: &$property,
            check: $check,
        });
    };
}

/// Takes a target that was written for libFuzzer and the crate `arbitrary`; feature `arbitrary`.
///
/// ```
/// fuzzbox_guest::fuzz_target!(|data: &[u8]| {
///     let _ = std::str::from_utf8(data);
/// });
/// # fn main() {}
/// ```
///
/// Any type that implements `Arbitrary` may stand in the place of `&[u8]`; a value that can't be made of the bytes is no
/// case. It is the property `fuzz_target`.
#[cfg(feature = "arbitrary")]
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:expr $(,)?) => {
        $crate::property! {
            fn fuzz_target(source) {
                let $data: &[u8] = &source.rest();
                // Some end with an expression that has a value.
                let _ = $body;
            }
        }
    };
    (|$value:ident: $type:ty| $body:expr $(,)?) => {
        $crate::property! {
            fn fuzz_target(source) {
                let bytes = source.rest();
                let $value: $type = $crate::__private::target_value(source, &bytes);
                let _ = $body;
            }
        }
    };
}

/// Draws a value and notes it.
pub fn draw_noted<T: Generate + Debug>(source: &mut Source, name: &str) -> T {
    let value = source.draw();
    source.note_value(name, &value);
    value
}

/// Draws a value and gives it away as bytes.
pub fn give<T: Value>(source: &mut Source, generate: impl FnOnce(&mut Source) -> T) -> T {
    let value = generate(source);
    source.value(T::type_id(), ENCODING, &to_bytes(&value));
    value
}

/// What an export of a property does.
#[cfg(target_family = "wasm")]
pub fn export(property: impl FnOnce(&mut Source)) {
    crate::panics::install();
    property(&mut Source::default());
}

/// What an export does that checks a value.
#[cfg(target_family = "wasm")]
pub fn export_check<T: Value>(ptr: usize, len: usize, check: impl FnOnce(T)) {
    crate::panics::install();
    match crate::value::from_bytes(&crate::imports::taken(ptr, len)) {
        Some(value) => check(value),
        None => Source::default().reject("the bytes are no value of this type"),
    }
}
