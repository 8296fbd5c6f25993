//! Where a falling function crosses a level.

/// Halvings of the bracket: beyond the precision of f64.
const HALVINGS: u32 = 200;

/// The point in [low, high] where `falling` crosses `level`; an end of it where it does not.
pub(super) fn crossing(mut low: f64, mut high: f64, level: f64, falling: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if falling(middle) > level {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
