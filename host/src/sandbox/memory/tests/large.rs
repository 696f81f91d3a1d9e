//! Runs of pages that are judged as a whole.

use super::*;

/// Hot pages as [`super::hot`] tells, with those that follow each other as one run.
fn hot(region: &Region) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (start, len) in super::hot(region) {
        match runs.last_mut() {
            Some(last) if last.0 + last.1 == start => last.1 += len,
            _ => runs.push((start, len)),
        }
    }
    runs
}

#[test]
fn a_large_run_that_is_idle_is_demoted_soon_and_comes_back_as_a_whole() {
    const LARGE: usize = 600;
    let (region, image) = tracked((LARGE + 100) * page(), pool(1_000));
    let write = || (20..20 + LARGE).for_each(|number| store(&region, number * page() + 8, 1));
    write();
    store(&region, 5, 1);
    restore(&region);
    assert_eq!(hot(&region), [(0, 1), (20, LARGE)]);
    for _ in 0..3 {
        let until = (1..100).find(|_| {
            store(&region, 5, 1);
            restore(&region);
            hot(&region) == [(0, 1)]
        });
        // Where nobody looks at lines it stays until it is checked.
        let soon = if lines::look_first(usize::MAX) { 7..=8 } else { 1..=100 };
        assert!(until.is_none_or(|until| soon.contains(&until)), "after {until:?} restores");
        assert!(until.is_some() || !lines::look_first(usize::MAX));
        assert!(until.is_none() || region.open(region.base() as usize + 100 * page(), true));
        assert_eq!(hot(&region), [(0, 1), (20, LARGE)], "one fault opens all of it");
        write();
        restore(&region);
        assert_eq!(contents(&region), image.bytes());
    }
}

#[test]
fn a_large_run_that_is_written_each_time_stays() {
    let (region, image) = tracked(700 * page(), pool(1_000));
    for _ in 0..50 {
        (20..620).for_each(|number| store(&region, number * page() + 8, 1));
        restore(&region);
        assert_eq!(contents(&region), image.bytes());
        assert_eq!(hot(&region), [(20, 600)]);
    }
}

#[test]
fn what_is_beside_a_page_that_is_written_each_time_is_demoted() {
    let (region, image) = tracked(1_700 * page(), pool(1_000));
    (20..1_620).for_each(|number| store(&region, number * page() + 8, 1));
    restore(&region);
    assert_eq!(hot(&region), [(20, 1_600)]);
    let until = (1..100).find(|_| {
        store(&region, 20 * page(), 1);
        restore(&region);
        hot(&region) == [(20, 108)]
    });
    assert_eq!(until.is_some(), lines::look_first(usize::MAX), "in the pieces beside it nothing was written");
    assert!(until.is_none() || region.open(region.base() as usize + 300 * page(), true));
    assert!(until.is_none() || hot(&region)[1].1 < 1_200, "not all comes back with one page: {:?}", hot(&region));
    restore(&region);
    assert_eq!(contents(&region), image.bytes());
}
