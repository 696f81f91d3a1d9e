//! What memories with the same image know of each other.

use super::*;

/// A memory whose snapshot is `image`, with pages opened before they are written or not.
fn another(image: &Arc<Image>, reads_ahead: bool) -> Region {
    let region = Region::with_budget(64 * page(), None, 32 << 20, GUARD, pool(1_000)).unwrap();
    let writes = Writes { reads_ahead, ..Writes::default() };
    // SAFETY: no guest anywhere.
    unsafe { (region.write(0, b"hello"), region.track(image.clone(), None, writes).unwrap()) };
    region
}

#[test]
fn what_is_hot_in_one_memory_is_open_in_the_next_one_until_it_is_idle() {
    let (first, image) = tracked(64 * page(), pool(1_000));
    [3, 4, 20].iter().for_each(|number| store(&first, number * page(), 1));
    restore(&first);
    let next = another(&image, false);
    assert_eq!(hot(&next), [(3, 2), (20, 1)]);
    let executions = (1..).find(|_| (store(&next, 20 * page(), 1), restore(&next), hot(&next)).2 == [(20, 1)]).unwrap();
    assert!(executions <= 122, "{executions}");
}

#[test]
fn one_fault_opens_the_run_that_is_hot_in_another_memory() {
    let (first, image) = tracked(64 * page(), pool(1_000));
    let (ahead, alone) = (another(&image, true), another(&image, false));
    store(&ahead, 12 * page(), 1);
    (10..20).chain([30]).for_each(|number| store(&first, number * page(), 1));
    restore(&first);
    for region in [&ahead, &alone] {
        store(region, 15 * page(), 1);
    }
    assert_eq!(hot(&ahead), [(12, 8)], "the rest of the run, up to what was hot here");
    assert_eq!(hot(&alone), [(15, 1)]);
    restore(&ahead);
    assert_eq!(contents(&ahead), image.bytes());
}
