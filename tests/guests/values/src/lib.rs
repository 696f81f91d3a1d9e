//! Properties that hold for nearly all values, and fail for those that nobody draws by chance: what a campaign finds here,
//! it has seen being compared.

use fuzzbox_guest::{Generate, property};
use std::time::Duration;

property! {
    fn an_integer(x: u32) {
        assert!(x != 0xdead_beef);
    }
}
property! {
    fn a_wide_integer(x: u64) {
        assert!(x != 0x0123_4567_89ab_cdef);
    }
}
property! {
    fn a_widest_integer(x: u128) {
        assert!(x != 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    }
}
property! {
    fn a_negative_integer(x: i64) {
        assert!(x != -7_654_321_098_765);
    }
}
property! {
    fn an_integer_that_another_determines(x: u32, y: u32) {
        if x == 0x1357_9bdf {
            assert!(y != x ^ 0x5555_aaaa);
        }
    }
}
property! {
    fn a_sum(x: u32, y: u32) {
        if x > 1_000_000 {
            assert!(x.wrapping_add(y) != 0xcafe_babe);
        }
    }
}
property! {
    fn a_product(x: u32) {
        assert!(x.wrapping_mul(0x9e37_79b1) != 0x1234_5678);
    }
}
property! {
    fn a_float(x: f64) {
        assert!(x != 1234.5678);
    }
}
property! {
    fn a_short_interval(x: f64) {
        assert!(!(x > 1.73205 && x < 1.7321));
    }
}
property! {
    fn a_text(s: String) {
        assert!(s != "hello world");
    }
}
property! {
    fn a_prefix(s: String) {
        assert!(!s.starts_with("Content-Length: "));
    }
}
property! {
    fn a_number_in_text(s: String) {
        if let Ok(n) = s.parse::<u64>() {
            assert!(n != 18_446_744_073_709);
        }
    }
}
property! {
    fn characters(c: char, d: char) {
        if c == '\u{1F980}' {
            assert!(d != '漢');
        }
    }
}
property! {
    fn a_list_of_three(v: Vec<u32>) {
        if v.len() == 3 {
            assert!(!(v[0] == 77_777_777 && v[1] == v[0] + 1 && v[2] == v[1] * 3));
        }
    }
}
property! {
    fn a_signature(v: Vec<u8>) {
        assert!(!v.starts_with(b"\x89PNG\r\n\x1a\n"));
    }
}
property! {
    fn an_option_of_two(o: Option<(u32, i32)>) {
        if let Some((31_415_926, b)) = o {
            assert!(b != -27_182_818);
        }
    }
}
property! {
    fn what_is_drawn_behind_a_list(v: Vec<bool>, x: u64) {
        if v.len() > 2 && v[0] && !v[1] {
            assert!(x != 0xfeed_face_cafe_beef);
        }
    }
}

#[derive(Clone, Debug, Generate)]
struct Order {
    id: u32,
    customer: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, Generate)]
enum Line {
    Item { article: u16, count: u8 },
    Discount(i32),
    Comment(String),
}

property! {
    fn a_field_of_a_struct(order: Order) {
        if order.id == 20_260_101 {
            assert!(order.customer != "ACME Inc.");
        }
    }
}
property! {
    fn a_variant_in_a_list(order: Order) {
        for line in &order.lines {
            if let Line::Item { article: 31_337, count } = line {
                assert!(*count != 99);
            }
        }
    }
}
property! {
    fn two_variants_in_a_list(order: Order) {
        let discounted = order.lines.iter().any(|line| matches!(line, Line::Discount(-123_456)));
        if discounted {
            assert!(!order.lines.iter().any(|line| matches!(line, Line::Comment(text) if text == "rebate")));
        }
    }
}
property! {
    fn an_array(a: [u8; 6]) {
        assert!(a != *b"GIF89a");
    }
}
property! {
    fn an_array_of_words(a: [u16; 4]) {
        if a[0] == 0x4d5a && a[1] == a[2] {
            assert!(a[3] != a[1] ^ 0x1234);
        }
    }
}
property! {
    fn a_text_in_either_case(s: String) {
        assert!(!s.eq_ignore_ascii_case("transfer-encoding"));
    }
}
property! {
    fn a_text_inside(s: String) {
        assert!(!s.contains("<script>"));
    }
}
property! {
    fn a_text_in_parts(s: String) {
        if let Some(("retries", value)) = s.split_once('=') {
            assert!(value.parse::<u32>() != Ok(70_000));
        }
    }
}
property! {
    fn a_length(s: String) {
        assert!(s.len() != 37);
    }
}
property! {
    fn two_equal_texts(a: String, b: String) {
        if a.len() >= 6 {
            assert!(a != b);
        }
    }
}
property! {
    fn a_list_of_texts(v: Vec<String>) {
        if v.len() == 2 && v[0] == "GET" {
            assert!(!v[1].starts_with("/admin"));
        }
    }
}
property! {
    fn a_check_sum(v: Vec<u8>) {
        if v.len() >= 5 && v[0] == 0x7e {
            let sum = v[..v.len() - 1].iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
            assert!(!(v[v.len() - 1] == sum && v[1] == 0x42 && v[2] == 0x17));
        }
    }
}
property! {
    fn a_result(r: Result<u64, String>) {
        match r {
            Ok(value) => assert!(value != 1_234_567_890_123),
            Err(text) => assert!(text != "timeout"),
        }
    }
}
property! {
    fn a_float_of_32_bits(x: f32, y: f32) {
        if x == 0.1 {
            assert!(y != -273.15);
        }
    }
}
property! {
    fn a_duration(d: Duration) {
        assert!(d != Duration::new(86_400, 500));
    }
}
property! {
    fn small_integers(a: i8, b: i16, c: u8) {
        if a == -77 && b == 12_345 {
            assert!(c != 200);
        }
    }
}
property! {
    fn an_index(v: Vec<u32>, at: usize) {
        if let Some(value) = v.get(at) {
            assert!(*value != 555_555_555);
        }
    }
}
property! {
    fn a_date(year: u16, month: u8, day: u8) {
        if (1..=12).contains(&month) && (1..=31).contains(&day) {
            assert!(!(year == 1970 && month == 2 && day == 29));
        }
    }
}
