use super::*;

/// Numbers that are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

/// A segment in absolute numbers: column; source, line, column, name.
type Segment = (i64, Option<(i64, i64, i64, Option<i64>)>);

fn encode(segments: &[Segment]) -> String {
    let mut text = Vec::new();
    let mut last = [0; 5];
    for (index, (column, source)) in segments.iter().enumerate() {
        let mut fields = vec![(0, *column)];
        if let Some((source, line, column, name)) = source {
            fields.extend([(1, *source), (2, *line), (3, *column)]);
            fields.extend(name.map(|name| (4, name)));
        }
        if index > 0 {
            text.push(b',');
        }
        for (field, value) in fields {
            vlq::encode(value - last[field], &mut text).unwrap();
            last[field] = value;
        }
    }
    String::from_utf8(text).unwrap()
}

fn map(mappings: &str) -> SourceMap {
    let json =
        serde_json::json!({ "version": 3, "sources": ["a", "b", "c"], "names": ["x", "y"], "mappings": mappings });
    SourceMap::parse(json.to_string().as_bytes()).unwrap()
}

fn in_words(found: Option<(u32, Place)>) -> String {
    let Some((from, place)) = found else { return "nothing".to_owned() };
    let Place { function, file, line, column, .. } = place;
    let number = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
    format!("{from}: {} {}:{}:{}", function.unwrap_or_default(), file.unwrap_or_default(), number(line), number(column))
}

fn at(map: &SourceMap, offset: u32) -> String {
    in_words(map.find(&[offset]).pop().unwrap())
}

/// What a table of all mappings gives: of the last columns that are not behind the offset, what was written last.
fn naive(segments: &[Segment], offset: u32) -> String {
    let before = segments.iter().filter(|(column, _)| *column <= i64::from(offset));
    let Some((column, Some((source, line, original, name)))) = before.max_by_key(|(column, _)| *column) else {
        return "nothing".to_owned();
    };
    let name = name.map_or("", |name| ["x", "y"][name as usize]);
    format!("{column}: {name} {}:{}:{}", ["a", "b", "c"][*source as usize], line + 1, original + 1)
}

#[test]
fn every_offset_has_the_mapping_that_a_table_of_all_gives() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut found = 0;
    for round in 0..500 {
        let mut segments: Vec<Segment> = (0..random.below(40))
            .map(|_| {
                let name = (random.below(4) == 0).then(|| random.below(2) as i64);
                let place = (random.below(3) as i64, random.below(5000) as i64, random.below(200) as i64, name);
                (random.below(300) as i64, (random.below(6) > 0).then_some(place))
            })
            .collect();
        if round % 4 > 0 {
            segments.sort_by_key(|(column, _)| *column);
        }
        let map = map(&encode(&segments));
        let offsets: Vec<u32> = (0..310).filter(|_| random.below(3) > 0).collect();
        for (offset, place) in offsets.iter().zip(map.find(&offsets)) {
            let place = in_words(place);
            assert_eq!(place, naive(&segments, *offset), "{offset} in {segments:?}");
            found += usize::from(place != "nothing");
        }
    }
    assert!(found > 50_000, "{found}");
}

#[test]
fn paths_begin_at_the_root_and_names_are_functions() {
    let json = br#"{"version":3,"sourceRoot":"./src/","sources":["a.ts",null,"/b.ts"],"names":["f"],
        "mappings":"AAAAA,CCAA,CCAA,CCAA","file":"x","sourcesContent":[[],{"a":1},null]}"#;
    let map = SourceMap::parse(json).unwrap();
    let found: Vec<_> = (0..4).map(|offset| at(&map, offset)).collect();
    assert_eq!(found, ["0: f src/a.ts:1:1", "1:  src/:1:1", "2:  /b.ts:1:1", "nothing"]);
}

#[test]
fn maps_in_a_map_begin_at_their_offset() {
    let part = |line: u32, column: u32, source: &str, mappings: &str| {
        serde_json::json!({
            "offset": { "line": line, "column": column },
            "map": { "version": 3, "sources": [source], "mappings": mappings },
        })
    };
    let parts = [part(0, 10, "a", "EAAA"), part(0, 100, "b", "AAAA,EAAC"), part(1, 0, "c", "AAAA")];
    let json = serde_json::json!({ "version": 3, "sections": parts }).to_string();
    let map = SourceMap::parse(json.as_bytes()).unwrap();
    let found: Vec<_> = [0, 11, 12, 99, 100, 102, 5000].map(|offset| at(&map, offset)).into();
    assert_eq!(
        found,
        ["nothing", "nothing", "12:  a:1:1", "12:  a:1:1", "100:  b:1:1", "102:  b:1:?", "102:  b:1:?"]
            .map(|text| text.replace('?', "2"))
    );
    assert!(map.fits(103) && !map.fits(102));
}

#[test]
fn a_map_of_many_lines_is_of_no_module() {
    assert!(map("AAAA,CAAA").fits(2));
    assert!(map("AAAA,CAAA;;").fits(2));
    assert!(!map("AAAA,CAAA;AAAA").fits(2));
    assert!(!map("AAAA,CAAA").fits(1));
    assert_eq!(at(&map("AAAA;CAAC"), 5), "0:  a:1:1");
}

#[test]
fn what_is_broken_ends_the_map_and_no_more() {
    // The second segment goes below zero, has two fields, six, no base64, a number without end, a huge one.
    for broken in ["FAAA", "CA", "CAAAAA", "CAA!", "CAAg", "CAAgggggggggggggggggggggggA", "+/////////HAAA", "é"] {
        let map = map(&format!("CAAA,{broken},CAAA"));
        assert_eq!([0, 1, 9].map(|offset| at(&map, offset)), ["nothing", "1:  a:1:1", "1:  a:1:1"], "{broken}");
    }
    // A source, a name or a line that there is not.
    assert_eq!(at(&map("AGAA"), 0), "nothing");
    assert_eq!(at(&map("AAAAE"), 0), "0:  a:1:1");
    assert_eq!(at(&map(&encode(&[(0, Some((0, 1 << 40, 3, None)))])), 0), "0:  a:?:?");
}

#[test]
fn what_is_no_map_is_refused() {
    let deep = format!("{{\"version\":3,\"mappings\":\"\",\"x\":{}", "[".repeat(1 << 20));
    let part = r#"{"offset":{"line":0,"column":0},"map":{"mappings":""}}"#;
    let parts = format!("{{\"version\":3,\"sections\":[{part}{}]}}", format!(",{part}").repeat(SECTIONS_MAX));
    let nested = format!("{{\"version\":3,\"sections\":[{}", "{\"map\":{\"sections\":[".repeat(1 << 18));
    for (json, words) in [
        ("", "it is no source map"),
        ("{}", "version 3"),
        (r#"{"version":2,"mappings":""}"#, "version 3"),
        (r#"{"version":-3,"mappings":""}"#, "it is no source map"),
        (r#"{"version":3}"#, "no `mappings`"),
        (r#"{"version":3,"mappings":[]}"#, "it is no source map"),
        (r#"{"version":3,"mappings":"","sources":"a"}"#, "it is no source map"),
        (r#"{"version":3,"mappings":"","sources":[1]}"#, "it is no source map"),
        (r#"{"version":3,"mappings":""} x"#, "it is no source map"),
        (r#"{"version":3,"sections":[{"offset":{"line":0,"column":99999999999},"map":{}}]}"#, "it is no source map"),
        (&deep, "EOF while parsing a list"),
        (&nested, "EOF while parsing a list"),
        (&parts, "more than 65536 sections"),
    ] {
        let error = format!("{:#}", SourceMap::parse(json.as_bytes()).unwrap_err());
        assert!(error.contains(words), "{}: {error}", &json[..json.len().min(100)]);
    }
}

#[test]
fn damaged_maps_never_harm() {
    let json = std::str::from_utf8(include_bytes!("../../../tests/data/table.wasm.map")).unwrap().as_bytes();
    let mut random = Random(7);
    let mut read = 0;
    for round in 0..4000 {
        let mut damaged = json.to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(damaged.len());
            match round % 4 {
                0 => damaged.truncate(at.max(1)),
                1 => damaged[at] = random.below(256) as u8,
                2 => damaged[at] = b",;AD+/g9\"\\{[0]}"[random.below(15)],
                _ => damaged.copy_within(at.., at / 2),
            }
        }
        if let Ok(map) = SourceMap::parse(&damaged) {
            read += 1;
            let _ = (map.fits(3000), map.find(&(0..3000).collect::<Vec<_>>()));
        }
    }
    assert!((500..3500).contains(&read), "{read} of 4000 are still maps");
}

#[test]
fn memory_stays_a_small_multiple_of_the_file() {
    let many = "\"\",".repeat(1 << 18);
    let json = format!("{{\"version\":3,\"sources\":[{many}\"a\"],\"mappings\":\"{}\"}}", "A,".repeat(1 << 18));
    let map = SourceMap::parse(json.as_bytes()).unwrap();
    let Section { sources, mappings, .. } = &map.sections[0];
    assert_eq!(sources.get(1 << 18), Some("a"));
    assert!(sources.ends.capacity() * 4 + sources.text.capacity() + mappings.len() <= 3 * json.len());
    let long = format!("{{\"version\":3,\"sources\":[\"{}\"],\"mappings\":\"AAAA\"}}", "é".repeat(1 << 18));
    let map = SourceMap::parse(long.as_bytes()).unwrap();
    assert!(map.find(&[0])[0].as_ref().unwrap().1.file.as_ref().unwrap().len() <= STRING_BYTES_MAX);
}

#[test]
fn the_first_place_in_a_range_is_that_of_its_lowest_column() {
    let place = |source: i64| Some((source, 6, 0, None));
    let map = map(&encode(&[(40, place(1)), (10, None), (30, place(2)), (12, place(0)), (30, place(1)), (50, None)]));
    let found: Vec<_> = map.find_first(&[0..10, 10..12, 12..20, 20..45, 45..60]).into_iter().collect();
    let files: Vec<_> = found.into_iter().map(|place| place.and_then(|place| place.file)).collect();
    assert_eq!(files, [None, None, Some("a".to_owned()), Some("c".to_owned()), None]);
}
