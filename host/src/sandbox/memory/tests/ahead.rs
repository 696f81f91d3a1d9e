use super::*;

#[test]
fn what_is_open_ahead_is_grown_over_without_a_call_and_closed_as_zeros() {
    let region = Region::with_budget(page(), None, 32 << 20, GUARD, pool(1_000)).unwrap();
    let access = |region: &Region| mappings_in(region, 0..8 * page());
    let named = |access: &[(usize, &str)]| access.iter().map(|&(pages, access)| (pages, access.to_owned())).collect();
    region.open_ahead(3 * page()).unwrap();
    let open: Vec<_> = named(&[(4, "rw"), (4, "--")]);
    assert_eq!(access(&region), open);
    region.grow(2 * page()).unwrap();
    assert_eq!(access(&region), open);
    // SAFETY: it is open, and no guest anywhere.
    unsafe { region.base().add(3 * page()).write(7) };
    region.close_ahead().unwrap();
    let closed: Vec<_> = named(&[(2, "rw"), (6, "--")]);
    assert_eq!(access(&region), closed);
    // What was written where nothing was is not there when something is.
    region.grow(5 * page()).unwrap();
    assert_eq!(contents(&region), vec![0; 5 * page()]);
    // Growth beyond what is open opens the rest.
    region.open_ahead(page()).unwrap();
    region.grow(8 * page()).unwrap();
    assert_eq!(access(&region), named(&[(8, "rw")]));
    region.close_ahead().unwrap();
    assert_eq!(access(&region), named(&[(8, "rw")]));
}

#[test]
fn no_more_is_open_ahead_than_the_memory_can_grow_to() {
    let region = Region::with_budget(page(), Some(4 * page()), 32 << 20, GUARD, pool(1_000)).unwrap();
    region.open_ahead(usize::MAX / 2).unwrap();
    assert_eq!(mappings_in(&region, 0..5 * page()), [(4, "rw".to_owned()), (1, "--".to_owned())]);
    region.close_ahead().unwrap();
    assert_eq!(mappings_in(&region, 0..5 * page()), [(1, "rw".to_owned()), (4, "--".to_owned())]);
}

#[test]
fn what_the_snapshot_grew_no_execution_did() {
    let region = Region::with_budget(page(), None, 32 << 20, GUARD, pool(1_000)).unwrap();
    (2..9).for_each(|pages| region.grow(pages * page()).unwrap());
    track(&region);
    for _ in 0..3 {
        assert_eq!((region.growth(), region.growth_steps()), (0, 0));
        region.grow(10 * page()).unwrap();
        region.grow(12 * page()).unwrap();
        assert_eq!((region.growth(), region.growth_steps()), (4 * page(), 2));
        restore(&region);
    }
}
