//! Runs several tasks side by side, a bounded number at a time, and gives their results in the order of the tasks.

use std::future::Future;

use tokio::task::{JoinError, JoinSet};

/// Runs `tasks`, at most `parallel_max` at a time. Dropping the future ends all running tasks. If a task panics, the
/// whole call fails; a task that can fail returns a `Result` of its own.
pub async fn fan_out<T, F>(tasks: impl IntoIterator<Item = F>, parallel_max: usize) -> Result<Vec<T>, JoinError>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut tasks = tasks.into_iter().enumerate();
    let mut running = JoinSet::new();
    let mut results: Vec<Option<T>> = Vec::new();
    loop {
        while running.len() < parallel_max.max(1)
            && let Some((index, task)) = tasks.next()
        {
            results.push(None);
            running.spawn(async move { (index, task.await) });
        }
        match running.join_next().await {
            Some(joined) => {
                let (index, result) = joined?;
                results[index] = Some(result);
            }
            None => return Ok(results.into_iter().flatten().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn results_keep_the_order_of_the_tasks_and_at_most_the_limit_runs_at_once() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..9u64)
            .map(|n| {
                let (now, most) = (now.clone(), most.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(9 - n)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    n
                }
            })
            .collect();
        assert_eq!(fan_out(tasks, 3).await.unwrap(), (0..9).collect::<Vec<u64>>());
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn no_tasks_give_no_results() {
        assert_eq!(fan_out(Vec::<std::future::Ready<u8>>::new(), 4).await.unwrap(), Vec::<u8>::new());
    }
}
