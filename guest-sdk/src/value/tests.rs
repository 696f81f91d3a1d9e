use super::*;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::fmt::Debug;

fn comes_back<T: Value + PartialEq + Debug>(value: T) {
    assert_eq!(from_bytes::<T>(&to_bytes(&value)), Some(value));
}

#[test]
fn values_come_back_from_their_bytes() {
    comes_back((0_u8, 255_u8, 300_u16, u64::MAX, u128::MAX, usize::MAX));
    comes_back((i8::MIN, -1_i16, i32::MAX, i64::MIN, i128::MIN, i128::MAX));
    comes_back((true, 'ß', 1.5_f32, -0.0_f64));
    comes_back((String::from("grün"), Some(Box::new(5_u32)), None::<u8>));
    comes_back(Vec::from([(); 3]));
    comes_back(BTreeMap::from([(1_u8, String::new()), (2, String::from("b"))]));
    comes_back(([1_u16, 2, 3], Some(Some(None::<bool>)), Some(Vec::<u8>::new())));
    let nan = f32::from_bits(0x7fa0_0001);
    let read: f32 = from_bytes(&to_bytes(&nan)).unwrap();
    assert_eq!(read.to_bits(), nan.to_bits());
}

#[test]
fn what_is_no_value_is_refused() {
    let read = |item: &[u8]| from_bytes::<Vec<u8>>(&[&MAGIC[..], item].concat());
    assert_eq!(read(&[2 << 3 | 4, 1 << 3, 2 << 3]), Some(Vec::from([1, 2])));
    for bad in [
        &[][..],
        &[1 << 3, 1 << 3],
        &[2 << 3 | 4, 1 << 3],
        // Longer than there are bytes, and a number of too many bits.
        &[0x84, 0xff, 0xff, 0xff, 0xff, 0x7f, 0],
        &[[0x80].as_slice(), &[0xff; 40]].concat(),
        &[7 | 2 << 3],
        &[3 | 1 << 3, 0xff],
        &[4; 5000],
    ] {
        assert_eq!(read(bad), None, "{bad:?}");
    }
    assert_eq!(from_bytes::<u8>(&[1 << 3]), None, "without its first two bytes");
    assert_eq!(from_bytes::<bool>(&to_bytes(&2_u8)), None);
    assert_eq!(from_bytes::<char>(&to_bytes(&0xd800_u32)), None);
    // As deep as can be, of lists of one element each.
    assert_eq!(read(&[4 | 1 << 3; 1_000_000]), None);
}

#[test]
fn numbers_are_the_nearest_that_there_are() {
    fn read<T: Value>(value: impl Value) -> T {
        from_bytes(&to_bytes(&value)).unwrap()
    }
    assert_eq!((read::<u8>(300_u16), read::<u8>(-1_i32), read::<i8>(-300_i64)), (255, 0, -128));
    assert_eq!((read::<i128>(u128::MAX), read::<i64>(i128::MIN)), (i128::MAX, i64::MIN));
    assert_eq!((read::<f64>(-3_i8), read::<u16>(2.0_f32), read::<i32>(f64::NAN)), (-3.0, 2, 0));
}

#[test]
fn what_is_around_a_value_is_taken_away_or_put_there() {
    fn read<T: Value>(value: impl Value) -> Option<T> {
        from_bytes(&to_bytes(&value))
    }
    assert_eq!(read::<Option<u32>>(7_u8), Some(Some(7)));
    assert_eq!(read::<u32>(Some(7_u8)), Some(7));
    assert_eq!(read::<u32>(None::<u8>), None);
    assert_eq!(read::<(u32,)>(7_u8), Some((7,)));
    assert_eq!(read::<u32>((7_u8,)), Some(7));
    assert_eq!(read::<Vec<u32>>(7_u8), Some(Vec::from([7])));
    assert_eq!(read::<Vec<u8>>(String::from("ab")), Some(Vec::from(*b"ab")));
    assert_eq!(read::<String>(['a', 'b']), Some(String::from("ab")));
    assert_eq!(read::<[u8; 3]>([1_u8, 2]), Some([1, 2, 0]));
    assert_eq!(read::<BTreeSet<u8>>(Vec::from([3_u8, 1, 3])), Some(BTreeSet::from([1, 3])));
    assert_eq!(read::<(u8, bool)>((7_u8,)), Some((7, false)));
}

#[test]
fn the_encoding_is_what_its_table_says() {
    let bytes = |item: &[u8]| [&MAGIC[..], item].concat();
    assert_eq!(to_bytes(&300_u16), bytes(&[0x80 | 12 << 3, 18]));
    assert_eq!(to_bytes(&-2_i8), bytes(&[1 | 1 << 3]));
    assert_eq!(to_bytes(&String::from("ab")), bytes(&[3 | 2 << 3, b'a', b'b']));
    assert_eq!(to_bytes(&Vec::from([Some(1_u8), None])), bytes(&[4 | 2 << 3, 7 | 1 << 3, 1 << 3, 7]));
    assert_eq!(to_bytes(&(1_u8, ())), bytes(&[5 | 2 << 3, 0, 0, 0, 0, 1 << 3, 0, 0, 0, 0, 5]));
    assert_eq!(to_bytes(&1.0_f32), bytes(&[2 | 4 << 3, 0, 0, 0x80, 0x3f]));
}
