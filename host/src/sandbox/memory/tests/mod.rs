mod ahead;
mod heat;
mod large;

use super::*;
use std::sync::atomic::AtomicIsize;

const GUARD: usize = 1 << 16;

fn page() -> usize {
    *PAGE_BYTES
}

/// A pool of mappings that nobody else draws from.
fn pool(mappings: isize) -> &'static Pool {
    Box::leak(Box::new(AtomicIsize::new(mappings)))
}

fn track(region: &Region) -> Arc<Image> {
    // SAFETY: no guest anywhere.
    unsafe {
        let image = Arc::new(Image::of(region.bytes()).unwrap());
        region.track(image.clone(), None, Writes::default()).unwrap();
        image
    }
}

/// A region of so many bytes that begins with "hello", tracked, with what it holds.
fn tracked(size: usize, pool: &'static Pool) -> (Region, Arc<Image>) {
    let region = Region::with_budget(size, None, 32 << 20, GUARD, pool).unwrap();
    // SAFETY: no guest anywhere.
    unsafe { region.write(0, b"hello") };
    let image = track(&region);
    (region, image)
}

/// What the handler and then the guest do: stores a byte.
fn store(region: &Region, offset: usize, value: u8) {
    region.open(region.base() as usize + offset, true);
    // SAFETY: no guest anywhere; the page was writable or is now.
    unsafe { region.base().add(offset).write(value) };
}

fn restore(region: &Region) -> bool {
    // SAFETY: no guest anywhere.
    unsafe { region.restore().unwrap() }
}

fn contents(region: &Region) -> Vec<u8> {
    let mut all = Vec::new();
    // SAFETY: no guest anywhere.
    unsafe {
        region.visit(|bytes| all.extend_from_slice(bytes));
        region.visit_annex(|bytes| all.extend_from_slice(bytes));
    }
    all
}

fn hot(region: &Region) -> Vec<(usize, usize)> {
    let mut pages = Vec::new();
    // SAFETY: no guest anywhere.
    unsafe { region.visit_hot(|offset, bytes| pages.push((offset / page(), bytes.len() / page()))) };
    pages
}

/// What the kernel allows in the memory: mappings as `(pages, access)`.
fn mappings(region: &Region) -> Vec<(usize, String)> {
    mappings_in(region, 0..round_up(region.size()))
}

fn mappings_in(region: &Region, bytes: Range<usize>) -> Vec<(usize, String)> {
    let (start, end) = (region.base() as usize + bytes.start, region.base() as usize + bytes.end);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let overlap = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let from = usize::from_str_radix(from, 16).unwrap().max(start);
        let to = usize::from_str_radix(to, 16).unwrap().min(end);
        (from < to).then(|| ((to - from) / page(), rest[..2].to_owned()))
    };
    maps.lines().filter_map(overlap).collect()
}

#[test]
fn restore_undoes_writes_and_growth() {
    let (region, image) = tracked(1 << 16, pool(1_000));
    for round in 0_u8..3 {
        // SAFETY: no guest anywhere.
        unsafe { region.write(100, &[round + 1; 9000]) };
        region.grow(3 << 16).unwrap();
        store(&region, (2 << 16) + 5, 0xee);
        // SAFETY: no guest anywhere.
        unsafe { region.write((1 << 16) - 10, &[7; 100]) };
        assert!(restore(&region));
        assert_eq!(contents(&region), image.bytes());
        region.grow(3 << 16).unwrap();
        assert!(contents(&region)[1 << 16..].iter().all(|&byte| byte == 0));
        assert!(restore(&region));
        assert!(!restore(&region));
    }
}

#[test]
fn what_was_closed_and_opened_again_is_as_before() {
    let (region, image) = tracked(16 * page(), pool(1_000));
    let base = region.base() as usize;
    // SAFETY: no guest anywhere.
    unsafe { region.write(3 * page(), &vec![1; 2 * page()]) };
    store(&region, 9 * page(), 2);
    let before = contents(&region);
    let access = mappings(&region);
    for closed in [2, 3, 9] {
        region.close(closed * page()).unwrap();
        assert_ne!(mappings(&region), access);
        region.reopen(closed * page()).unwrap();
    }
    assert_eq!(contents(&region), before);
    assert_eq!(mappings(&region), access);
    // Hot pages can be written without more ado, and the others are still watched.
    assert!(!region.open(base + 4 * page(), true));
    assert!(region.open(base + 5 * page(), true));
    restore(&region);
    assert_eq!(contents(&region), image.bytes());
    // So it is when there are no mappings left to tell pages apart.
    region.tracking().pages.make_all_hot(&region.mapping).unwrap();
    region.close(2 * page()).unwrap();
    region.reopen(2 * page()).unwrap();
    assert!(!region.open(base + 12 * page(), true));
    store(&region, 12 * page(), 4);
    restore(&region);
    assert_eq!(contents(&region), image.bytes());
}

#[test]
fn a_fault_outside_the_memory_or_on_a_hot_page_is_refused() {
    let (region, _) = tracked(1 << 16, pool(1_000));
    let base = region.base() as usize;
    assert!(region.open(base + 5, true));
    assert!(!region.open(base + 5, true), "a hot page can't fault for want of permission");
    for by_guest in [true, false] {
        assert!(!region.open(base + (1 << 16), by_guest));
        assert!(!region.open(base.wrapping_sub(1), by_guest));
    }
    region.grow(2 << 16).unwrap();
    assert!(region.open(base + (1 << 16), true));
    assert!(!region.open(base + (1 << 16), true));
    assert!(!region.open(base + (2 << 16), true));
    restore(&region);
    assert!(!region.open(base + (1 << 16), true), "it is above the end again");
}

#[test]
fn lengths_that_are_no_multiple_of_the_page_are_cut_exactly() {
    let (region, _) = tracked(5000, pool(1_000));
    region.grow(20_000).unwrap();
    // SAFETY: no guest anywhere.
    unsafe { region.write(4990, &[7; 4000]) };
    restore(&region);
    region.grow(20_000).unwrap();
    assert!(contents(&region)[5..].iter().all(|&byte| byte == 0));
}

#[test]
fn a_memory_that_is_empty_can_grow() {
    let region = Region::with_budget(0, None, 1 << 20, GUARD, pool(10)).unwrap();
    track(&region);
    for _ in 0..2 {
        region.grow(1 << 16).unwrap();
        store(&region, 100, 1);
        assert!(restore(&region));
        assert_eq!(region.size(), 0);
    }
}

#[test]
fn hot_pages_are_visited_in_ascending_order() {
    let (region, _) = tracked(200 * page(), pool(1_000));
    for number in [150, 3, 64, 63, 4, 199, 0, 65] {
        store(&region, number * page(), 1);
    }
    // Page 0 is not all zeros, so it is no part of a run with others.
    assert_eq!(hot(&region), [(0, 1), (3, 2), (63, 3), (150, 1), (199, 1)]);
    store(&region, page(), 1);
    assert_eq!(hot(&region), [(0, 1), (1, 1), (3, 2), (63, 3), (150, 1), (199, 1)]);
}

#[test]
fn the_budget_counts_the_mappings_that_there_are() {
    let pool = pool(1_000);
    let (region, _) = tracked(100 * page(), pool);
    let mut random = 1_u32;
    for round in 0..3_000 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        store(&region, (random >> 16) as usize % 100 * page(), 1);
        if round % 3 == 0 {
            // Pages that are written once in a hundred rounds are demoted sooner or later, and come back.
            (0..70).for_each(|_| _ = restore(&region));
        }
        if round % 50 == 0 {
            let counted = 1_000 - pool.load(Relaxed);
            let seen = isize::try_from(mappings(&region).len()).unwrap();
            assert!((seen - 1..=seen + 1).contains(&counted), "{counted} mappings counted, {seen} seen");
        }
    }
    drop(region);
    assert_eq!(pool.load(Relaxed), 1_000);
}

#[test]
fn when_the_budget_is_spent_a_memory_becomes_one_mapping_and_gives_back_what_it_had() {
    let pool = pool(10);
    let (first, image) = tracked(64 * page(), pool);
    let (second, _) = tracked(64 * page(), pool);
    for number in [2, 4, 6] {
        store(&first, number * page(), 1);
    }
    for number in [2, 4] {
        store(&second, number * page(), 1);
    }
    assert_eq!((pool.load(Relaxed), mappings(&first).len()), (0, 7));
    store(&first, 3 * page(), 1);
    assert_eq!((pool.load(Relaxed), mappings(&first).len()), (2, 5), "a page between two hot ones joins them");
    store(&first, 40 * page(), 1);
    assert_eq!(pool.load(Relaxed), 0);
    store(&first, 50 * page(), 1);
    assert_eq!((pool.load(Relaxed), mappings(&first)), (6, vec![(64, "rw".to_owned())]));
    assert_eq!(hot(&first), [(0, 64)]);
    store(&second, 50 * page(), 1);
    assert_eq!(pool.load(Relaxed), 4, "others can go on");
    restore(&first);
    restore(&second);
    assert_eq!(contents(&first), image.bytes());
    assert_eq!(contents(&second), image.bytes());
    // Growing needs mappings too, and does without.
    pool.store(0, Relaxed);
    for round in 0..3 {
        first.grow(80 * page()).unwrap();
        assert!(contents(&first)[64 * page()..].iter().all(|&byte| byte == 0), "round {round}");
        store(&first, 70 * page(), 1);
        assert!(restore(&first));
    }
    pool.store(4, Relaxed);
    drop((first, second));
    assert_eq!(pool.load(Relaxed), 10);
}

#[test]
fn what_is_not_written_for_long_is_demoted_and_what_is_stays() {
    let pool = pool(1_000);
    let (region, image) = tracked(64 * page(), pool);
    for number in [0, 5, 6, 7, 20, 40, 41] {
        store(&region, number * page(), 9);
    }
    let hot_at_first = hot(&region);
    for _ in 0..100 {
        restore(&region);
    }
    assert_eq!(hot(&region), hot_at_first);
    for _ in 0..3_000 {
        store(&region, 6 * page(), 9);
        store(&region, 20 * page() + 1, 9);
        restore(&region);
    }
    assert_eq!(hot(&region), [(6, 1), (20, 1)]);
    assert_eq!(contents(&region), image.bytes());
    assert_eq!(pool.load(Relaxed), 996);
    store(&region, 5 * page(), 9);
    assert_eq!(hot(&region), [(5, 2), (20, 1)]);
    store(&region, 40 * page(), 9);
    assert_eq!(hot(&region), [(5, 2), (20, 1), (40, 2)], "page 41 was demoted together with page 40");
    restore(&region);
    assert_eq!(contents(&region), image.bytes());
}

#[test]
fn what_was_demoted_together_comes_back_a_block_at_a_time() {
    let (region, image) = tracked(64 * page(), pool(1_000));
    for number in 3..30 {
        store(&region, number * page(), 9);
    }
    for _ in 0..3_000 {
        restore(&region);
    }
    assert_eq!(hot(&region), []);
    store(&region, 12 * page(), 9);
    assert_eq!(hot(&region), [(8, 8)]);
    store(&region, 4 * page(), 9);
    assert_eq!(hot(&region), [(3, 13)], "what is before page 3 was never hot");
    store(&region, 30 * page(), 9);
    assert_eq!(hot(&region), [(3, 13), (30, 1)]);
    restore(&region);
    assert_eq!(contents(&region), image.bytes());
}

#[test]
fn what_is_written_in_order_is_opened_together() {
    let region = Region::with_budget(4_000 * page(), None, 32 << 20, GUARD, pool(1_000)).unwrap();
    // SAFETY: no guest anywhere.
    let image = Arc::new(Image::of(unsafe { region.bytes() }).unwrap());
    // SAFETY: no guest anywhere.
    unsafe { region.track(image.clone(), None, Writes { reads_ahead: true, ..Writes::default() }).unwrap() };
    let executions_until_cold = |written: Range<usize>| {
        let fault = |&number: &usize| region.open(region.base() as usize + number * page(), true);
        let faults = written.clone().filter(fault).count();
        written.for_each(|number| store(&region, number * page() + 8, 1));
        (faults, (1..).find(|_| (restore(&region), hot(&region)).1.is_empty()).unwrap())
    };
    let (faults, first) = executions_until_cold(10..3_010);
    assert!(faults < 20, "{faults} faults");
    assert_eq!(contents(&region), image.bytes());
    assert!(executions_until_cold(3_100..3_103).0 == 3, "a few are no order");
    // Who comes back was a mistake to demote, and stays longer.
    let (faults, again) = executions_until_cold(10..3_010);
    assert!(faults < 500, "{faults} faults of pages that come back in blocks");
    assert!(again > 2 * first - 61, "{first} and {again} executions");
    assert_eq!(contents(&region), image.bytes());
}

#[test]
fn only_pages_that_were_touched_are_accessible_when_the_memory_grows_over_them_again() {
    let pool = pool(1_000);
    let (region, _) = tracked(16 * page(), pool);
    let snapshot = region.size();
    for round in 0..3 {
        region.grow(snapshot + 40 * page()).unwrap();
        let expected = if round == 0 {
            vec![(40, "--")]
        } else {
            // Between the first two runs is a gap that is not worth a mapping.
            vec![(8, "--"), (5, "rw"), (17, "--"), (1, "rw"), (9, "--")]
        };
        let above = mappings_in(&region, snapshot..region.size());
        assert_eq!(
            above,
            expected.into_iter().map(|(pages, access)| (pages, access.to_owned())).collect::<Vec<_>>(),
            "round {round}"
        );
        for number in [9, 8, 12, 30] {
            store(&region, snapshot + number * page() + 70, 1);
        }
        assert_eq!(1_000 - pool.load(Relaxed), if round == 0 { 6 } else { 4 });
        assert!(restore(&region));
        assert_eq!(1_000 - pool.load(Relaxed), 4);
    }
    // In steps, too.
    for end in [1, 3, 40, 41, 45, 50, 150] {
        let old = region.size();
        region.grow(snapshot + end * page()).unwrap();
        assert!(contents(&region)[old..].iter().all(|&byte| byte == 0));
        store(&region, snapshot + end * page() - 1, 1);
        store(&region, snapshot + end * page() - page(), 1);
    }
    assert!(restore(&region));
    region.grow(snapshot + 150 * page()).unwrap();
    assert!(contents(&region)[snapshot..].iter().all(|&byte| byte == 0));
}

#[test]
fn growing_often_over_pages_that_were_touched_neither_splits_nor_joins_mappings() {
    let (region, _) = tracked(16 * page(), pool(1_000));
    let (snapshot, all) = (region.size(), 0..region.capacity);
    let execute = || {
        region.grow(snapshot + 40 * page()).unwrap();
        // The first is beside the snapshot, whose last page is writable, too.
        for number in [-1, 0, 1, 20, 39] {
            store(&region, snapshot.strict_add_signed(number * page() as isize), 1);
        }
        mappings_in(&region, all.clone())
    };
    while !region.tracking().grown.sets_apart() {
        execute();
        restore(&region);
    }
    let pages = |mappings: Vec<(usize, String)>| mappings.into_iter().map(|(pages, _)| pages).collect::<Vec<_>>();
    let closed = pages(mappings_in(&region, all.clone()));
    assert_eq!(closed[..7], [15, 1, 2, 18, 1, 18, 1]);
    for _ in 0..3 {
        assert_eq!(pages(execute()), closed);
        restore(&region);
        assert_eq!(pages(mappings_in(&region, all.clone())), closed);
    }
}

/// Grows, touches and cuts a memory by chance, and holds after each step that there are as many mappings as are taken
/// from a pool of `most`. Returns whether they ran out.
fn grow_by_chance(seed: u32, most: isize) -> bool {
    let pool = pool(most);
    let (region, image) = tracked(4 * page(), pool);
    let (snapshot, mut random) = (region.size(), seed);
    let mut below = |limit: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) as usize % limit
    };
    for step in 0..240 {
        let (size, pages) = (region.size(), region.growth() / page());
        match below(8) {
            0 => _ = restore(&region),
            1 | 2 => region.grow(size + below(30) * page()).unwrap(),
            _ if pages == 0 => {}
            3 => store(&region, size - 1, 1),
            _ => store(&region, snapshot + below(pages) * page(), 1),
        }
        assert!(contents(&region)[size.min(region.size())..].iter().all(|&byte| byte == 0));
        assert_eq!(contents(&region)[..snapshot], *image.bytes());
        let taken = most - pool.load(Relaxed);
        let seen = isize::try_from(mappings_in(&region, 0..region.capacity).len()).unwrap();
        // Without it there are the snapshot and what is behind it; the first run is perhaps beside the snapshot.
        let (open, grown) = (isize::from(region.growth() > 0), &region.tracking().grown);
        let least = if grown.sets_apart() { 1 + taken } else { 2 };
        let expected = if grown.spent() { 2 + open..=2 + open } else { least..=2 + taken };
        assert!(expected.contains(&seen), "seed {seed}, step {step}: {taken} mappings taken of {most}, {seen} seen");
    }
    let spent = region.tracking().grown.spent();
    drop(region);
    assert_eq!(pool.load(Relaxed), most);
    spent
}

#[test]
fn the_budget_counts_the_mappings_of_what_grows() {
    assert!((0..20).all(|seed| !grow_by_chance(seed, 1_000)));
    let spent = (0..40).filter(|seed| grow_by_chance(*seed, 4 + *seed as isize % 12)).count();
    assert!((20..40).contains(&spent), "{spent} ran out of mappings");
}

#[test]
fn a_huge_growth_is_zeroed_and_does_not_stay_resident() {
    let (region, _) = tracked(1 << 16, pool(1_000));
    for _ in 0..2 {
        region.grow(32 << 20).unwrap();
        assert!(contents(&region)[1 << 16..].iter().all(|&byte| byte == 0));
        for offset in (1 << 16..32 << 20).step_by(page()) {
            store(&region, offset, 1);
        }
        restore(&region);
        let mut resident = vec![0_u8; (32 << 20) / page()];
        // SAFETY: the region is mapped for longer than that, and there is a byte for each page.
        let failed = unsafe { libc::mincore(region.base().cast(), 32 << 20, resident.as_mut_ptr()) != 0 };
        assert!(!failed);
        let bytes = resident.iter().filter(|&&page| page & 1 != 0).count() * page();
        assert!((16 << 20..17 << 20).contains(&bytes), "{bytes} bytes are resident");
    }
}

#[test]
fn the_forbidden_page_is_refused_to_the_guest_and_opened_for_others_until_the_restore() {
    for mappings_max in [1_000, 0] {
        let region = Region::with_budget(64 * page(), None, 1 << 20, GUARD, pool(mappings_max)).unwrap();
        // SAFETY: no guest anywhere.
        unsafe {
            assert!(!region.forbid(5));
            assert!(!region.forbid(64 * page()));
            assert!(region.forbid(30 * page()));
        }
        let image = track(&region);
        let inside = region.base() as usize + 30 * page() + 17;
        for round in 0..3 {
            assert!(!region.open(inside, true));
            assert!(!region.was_opened());
            store(&region, 29 * page(), 1);
            store(&region, 31 * page(), 1);
            assert!(!region.open(inside, true), "its neighbours are hot, round {round}");
            assert_eq!(contents(&region).len(), 64 * page());
            assert!(region.open(inside, false));
            assert!(region.was_opened());
            store(&region, 30 * page() + 17, 3);
            assert_eq!(contents(&region)[30 * page() + 17], 3);
            assert!(
                !hot(&region).iter().any(|&(start, pages)| mappings_max > 0 && (start..start + pages).contains(&30))
            );
            restore(&region);
            assert_eq!(contents(&region), image.bytes());
            assert!(mappings(&region).contains(&(1, "--".to_owned())));
            region.close(10 * page()).unwrap();
            region.reopen(10 * page()).unwrap();
            assert!(mappings(&region).contains(&(1, "--".to_owned())));
        }
    }
}

#[test]
#[should_panic(expected = "forbidden")]
fn the_bytes_of_a_memory_with_a_forbidden_page_can_not_be_had_as_one() {
    let region = Region::new(64 * page(), None, 1 << 20, GUARD).unwrap();
    // SAFETY: no guest anywhere.
    unsafe {
        assert!(region.forbid(30 * page()));
        track(&region);
        region.bytes();
    }
}
