//! Bounded retry of operations that may fail once on a busy machine and succeed a moment later.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Counted from the first failure.
const TRIED_FOR: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);

/// Runs `attempt` until it succeeds, for at most half a minute after the first failure. `attempt` gets the number of
/// the try, from 1.
///
/// # Errors
/// The last failure, with a remedy.
pub(super) async fn retry_until_success<T>(
    mut attempt: impl AsyncFnMut(u32) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (mut tries, mut first_failure) = (0, None);
    loop {
        tries += 1;
        let error = match attempt(tries).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if first_failure.get_or_insert_with(Instant::now).elapsed() > TRIED_FOR {
            return Err(error).with_context(|| {
                format!(
                    "it failed {tries} times in {} s, the last time as follows; if the machine or the servers have too much \
                     to do, run fewer things at once, or fewer candidates",
                    TRIED_FOR.as_secs()
                )
            });
        }
        tracing::info!(%error, tries, "tried again");
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::retry_until_success;

    #[tokio::test]
    async fn what_fails_at_first_is_tried_again() {
        let done = retry_until_success(async |number| if number < 3 { Err(anyhow::anyhow!("no")) } else { Ok(number) });
        assert_eq!(done.await.expect("done"), 3);
    }
}
