//! Entries of a ledger, drawn by their types and by hand: the first version of generators that are edited afterwards.

use fuzzbox_guest::{Generate, Source, Value, property};

#[derive(Clone, Debug, Generate, PartialEq, Value)]
struct Entry {
    #[generate(with = |source| source.int(0..=1000))]
    amount: u32,
    #[generate(with = |source| source.int(0..=1000))]
    account: u32,
    kind: Kind,
}

#[derive(Clone, Debug, Generate, PartialEq, Value)]
enum Kind {
    Deposit,
    Withdrawal,
    Transfer { fee: u16 },
}

impl Entry {
    fn amount(&self) -> u32 {
        self.amount
    }

    fn account(&self) -> u32 {
        self.account
    }

    fn is_deposit(&self) -> bool {
        self.kind == Kind::Deposit
    }

    fn fee(&self) -> u16 {
        if let Kind::Transfer { fee } = self.kind { fee } else { 0 }
    }
}

/// The same without the help of types.
fn entry(source: &mut Source) -> Entry {
    let amount = source.int(0..=1000);
    let account = source.int(0..=1000);
    let kind = match source.choice(3) {
        0 => Kind::Deposit,
        1 => Kind::Withdrawal,
        _ => Kind::Transfer { fee: source.int(..) },
    };
    Entry { amount, account, kind }
}

/// What fails: a transfer that costs too much, from one of some accounts, behind a deposit.
fn audit(entries: &[Entry]) {
    let mut has_money = false;
    for entry in entries {
        let is_large = entry.amount() >= 300 && (5..=20).contains(&entry.account());
        assert!(!(has_money && is_large && entry.fee() >= 100), "a transfer for too much");
        has_money |= entry.is_deposit() && entry.amount() >= 50;
    }
}

property! {
    fn in_two_parts(source) -> Vec<Entry> {
        source.vec(0..=8, |source| source.draw())
    }
    check(entries) {
        audit(&entries);
    }
}

property! {
    fn in_one_part(source) {
        let entries: Vec<Entry> = source.vec(0..=8, |source| source.draw());
        audit(&entries);
    }
}

property! {
    fn by_hand(source) {
        let entries = source.vec(0..=8, entry);
        audit(&entries);
    }
}
