//! Hit counts to buckets.

/// The bucket of a hit count as one bit of eight: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128 and more (AFL's classes;
/// Zalewski, "Technical whitepaper for afl-fuzz", section 3). 0 for a count of 0.
pub(crate) fn bucket(count: u32) -> u8 {
    // How many classes begin at or below it: no branches, since counts can't be foretold.
    let class = CLASSES.iter().fold(0, |class, &start| class + u32::from(count >= start));
    ((1_u32 << class) >> 1) as u8
}

/// Where buckets begin.
pub(super) const CLASSES: [u32; 8] = [1, 2, 3, 4, 8, 16, 32, 128];
