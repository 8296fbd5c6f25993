//! Names of the candidates' znodes, and their order in the queue.

/// The separator between the guid and the sequence number.
const MARK: &str = "-n_";

/// The number of characters that a sequential create appends; one more where the number is negative and long.
const NUMBER_CHARS: usize = 10;

/// Name of the one znode that the lock recipes compete for.
pub const LOCK: &str = "lock";

/// Name of the persistent znode that names the last leader.
pub const BREADCRUMB: &str = "breadcrumb";

/// The guid of one incarnation, made of two new random numbers.
pub(super) fn guid(high: u64, low: u64) -> String {
    format!("{high:016x}{low:016x}")
}

/// The path for a sequential create; the ensemble appends the number.
pub(super) fn prefix(election: &str, guid: &str) -> String {
    format!("{election}/{guid}{MARK}")
}

/// Path of the lock.
pub(super) fn lock(election: &str) -> String {
    format!("{election}/{LOCK}")
}

/// Whether a name contains this guid.
pub(super) fn bears(name: &str, guid: &str) -> bool {
    name.strip_prefix(guid).is_some_and(|rest| rest.starts_with(MARK))
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The sequence number of a candidate's znode: a signed 32-bit number.
/// `None` for names that are no candidate's.
#[must_use]
pub fn sequence(name: &str) -> Option<i32> {
    let (_, number) = name.rsplit_once(MARK)?;
    number.parse().ok()
}

/// Whether a name ends like one of a sequential create, whatever precedes that: in ten digits, or fewer behind a sign.
#[must_use]
pub fn ends_in_number(name: &str) -> bool {
    let number = name.len().checked_sub(NUMBER_CHARS).and_then(|at| name.get(at..));
    let digits = number.map(|number| number.strip_prefix('-').unwrap_or(number));
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The candidates' names among `names`, by number, ties by name. This is the order of creation as long as
/// [`numbers_give_order`].
#[must_use]
pub fn by_number(names: Vec<String>) -> Vec<String> {
    let mut numbered: Vec<(i32, String)> =
        names.into_iter().filter_map(|name| sequence(&name).map(|number| (number, name))).collect();
    numbered.sort();
    numbered.into_iter().map(|(_, name)| name).collect()
}

/// Whether these numbers are in the order of creation of their znodes. At the end of its range the parent's counter
/// repeats the same number. While creates are in flight it gives negative numbers instead, and falls back afterwards.
/// From then on only the czxid shows the order.
#[must_use]
pub fn numbers_give_order(names: &[String]) -> bool {
    names.iter().filter_map(|name| sequence(name)).all(|number| (0..i32::MAX).contains(&number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(number: i32) -> String {
        format!("{:032x}{MARK}{number:010}", u32::from_ne_bytes(number.to_ne_bytes()).reverse_bits())
    }

    #[test]
    fn the_number_decides_and_not_the_guid() {
        let names = vec!["ff-n_0000000001".to_owned(), "00-n_0000000002".to_owned(), "aa-n_0000000000".to_owned()];
        assert_eq!(by_number(names), ["aa-n_0000000000", "ff-n_0000000001", "00-n_0000000002"]);
    }

    #[test]
    fn numbers_tell_nothing_once_the_counter_sticks() {
        assert!(numbers_give_order(&[name(0), name(i32::MAX - 1), "breadcrumb".to_owned()]));
        assert!(!numbers_give_order(&[name(7), name(i32::MAX)]));
        assert!(!numbers_give_order(&[name(7), name(i32::MIN)]));
    }

    #[test]
    fn names_that_are_no_candidates_are_left_out() {
        let names = ["breadcrumb", "lock", "n_1", "x-n_", "x-n_abc", "x-n_99999999999", "x-n_0000000007"];
        assert_eq!(by_number(names.map(str::to_owned).to_vec()), ["x-n_0000000007"]);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_creation_in_any_listing(
            start in 0..i32::MAX / 2, steps in prop::collection::vec(1_i32..100_000, 1..40), turn in any::<usize>()
        ) {
            let mut number = start;
            let created: Vec<String> = steps.iter().map(|step| {
                number += *step;
                name(number)
            }).collect();
            let mut listed = created.clone();
            listed.rotate_left(turn % created.len());
            if turn % 2 == 0 {
                listed.reverse();
            }
            prop_assert!(numbers_give_order(&listed));
            prop_assert_eq!(by_number(listed), created);
        }
    }
}
