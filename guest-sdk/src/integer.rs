//! Integers of every width, by draws of 64 bits.

use crate::backend::Backend;
use crate::index::Zigzag;

/// An integer type. There are twelve; it can't be implemented elsewhere.
pub trait Integer: sealed::Draw + Copy + PartialOrd {
    /// 0.
    const ZERO: Self;
    /// The least.
    const MIN: Self;
    /// The greatest.
    const MAX: Self;
    /// One more, if there is.
    fn next(self) -> Option<Self>;
    /// One less, if there is.
    fn previous(self) -> Option<Self>;
}

pub(crate) mod sealed {
    use super::Backend;

    pub trait Draw {
        /// A number from `lo` to `hi`.
        #[allow(private_interfaces)]
        fn draw(source: &mut Backend, lo: Self, hi: Self, towards: Self) -> Self;
    }
}

macro_rules! integer {
    ($type:ident) => {
        impl Integer for $type {
            const ZERO: Self = 0;
            const MIN: Self = $type::MIN;
            const MAX: Self = $type::MAX;

            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    };
}

macro_rules! integers {
    ($($kind:ident $wide:ident: $($type:ident)*;)*) => {$($(
        integer! { $type }

        impl sealed::Draw for $type {
            #[allow(private_interfaces)]
            fn draw(source: &mut Backend, lo: Self, hi: Self, towards: Self) -> Self {
                source.$kind(lo as $wide, hi as $wide, towards as $wide) as Self
            }
        }
    )*)*};
}

integers! {
    int i64: i8 i16 i32 i64 isize;
    uint u64: u8 u16 u32 u64 usize;
}

macro_rules! wide_integers {
    ($($type:ident $zigzag:ident)*) => {$(
        integer! { $type }

        impl sealed::Draw for $type {
            #[allow(private_interfaces)]
            fn draw(source: &mut Backend, lo: Self, hi: Self, towards: Self) -> Self {
                let towards = towards.clamp(lo, hi);
                let zigzag = Zigzag::$zigzag(lo, hi, towards);
                zigzag.value(wide_index(source, zigzag.index_max()), towards as u128) as Self
            }
        }
    )*};
}

wide_integers! { i128 signed u128 unsigned }

/// An index of 128 bits as two draws of 64: the upper half, and then the lower within what is left.
fn wide_index(source: &mut Backend, max: u128) -> u128 {
    let (high_max, low_max) = ((max >> 64) as u64, max as u64);
    let high = source.uint(0, high_max, 0);
    let low = source.uint(0, if high == high_max { low_max } else { u64::MAX }, 0);
    u128::from(high) << 64 | u128::from(low)
}
