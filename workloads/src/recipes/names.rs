//! Names of the candidates' znodes, and their order in the queue.

/// Stands between the guid and the sequence number.
const MARK: &str = "-n_";

/// Name of the one znode that the lock recipes compete for.
pub const LOCK: &str = "lock";

/// Name of the persistent znode that says who led last.
pub const BREADCRUMB: &str = "breadcrumb";

/// The guid of one incarnation, made of two fresh numbers.
pub(super) fn guid(high: u64, low: u64) -> String {
    format!("{high:016x}{low:016x}")
}

/// What is given to a sequential create; the ensemble appends the number.
pub(super) fn prefix(election: &str, guid: &str) -> String {
    format!("{election}/{guid}{MARK}")
}

/// Path of the lock.
pub(super) fn lock(election: &str) -> String {
    format!("{election}/{LOCK}")
}

/// Whether a name was made under this guid.
pub(super) fn bears(name: &str, guid: &str) -> bool {
    name.strip_prefix(guid).is_some_and(|rest| rest.starts_with(MARK))
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The sequence number of a candidate's znode: a signed 32-bit number, negative once the parent's counter has wrapped.
/// `None` for names that are no candidate's.
#[must_use]
pub fn sequence(name: &str) -> Option<i32> {
    let (_, number) = name.rsplit_once(MARK)?;
    number.parse().ok()
}

/// The candidates' names among `names`, first in the queue first. The counter wraps, so places are taken by the signed
/// distance from one of them, which is right as long as fewer than 2³¹ znodes lie between the first and the last.
#[must_use]
pub fn queue_order(names: Vec<String>) -> Vec<String> {
    let mut numbered: Vec<(i32, String)> =
        names.into_iter().filter_map(|name| sequence(&name).map(|number| (number, name))).collect();
    let Some(origin) = numbered.first().map(|first| first.0) else { return Vec::new() };
    numbered.sort_by(|a, b| {
        let distance = |number: i32| number.wrapping_sub(origin);
        distance(a.0).cmp(&distance(b.0)).then_with(|| a.1.cmp(&b.1))
    });
    numbered.into_iter().map(|(_, name)| name).collect()
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
        assert_eq!(queue_order(names), ["aa-n_0000000000", "ff-n_0000000001", "00-n_0000000002"]);
    }

    #[test]
    fn a_wrapped_number_comes_after_the_largest_one() {
        let names = vec![name(i32::MIN), name(i32::MAX - 1), name(i32::MAX), name(i32::MIN + 1)];
        let expected = vec![name(i32::MAX - 1), name(i32::MAX), name(i32::MIN), name(i32::MIN + 1)];
        assert_eq!(queue_order(names), expected);
    }

    #[test]
    fn names_that_are_no_candidates_are_left_out() {
        let names = ["breadcrumb", "lock", "n_1", "x-n_", "x-n_abc", "x-n_99999999999", "x-n_0000000007"];
        assert_eq!(queue_order(names.map(str::to_owned).to_vec()), ["x-n_0000000007"]);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_creation_from_any_start_and_any_listing(
            start in any::<i32>(), steps in prop::collection::vec(1_i32..100_000, 1..40), turn in any::<usize>()
        ) {
            let mut number = start;
            let created: Vec<String> = steps.iter().map(|step| {
                number = number.wrapping_add(*step);
                name(number)
            }).collect();
            let mut listed = created.clone();
            listed.rotate_left(turn % created.len());
            if turn % 2 == 0 {
                listed.reverse();
            }
            prop_assert_eq!(queue_order(listed), created);
        }
    }
}
