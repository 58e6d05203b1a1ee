//! Measures time, processor time and memory of this process.

use std::{fs, future::Future, time::Instant};

use anyhow::{Context, Result};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use tokio::runtime::{Builder, Runtime};

/// Wall-clock seconds a piece of work takes.
pub fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let since = Instant::now();
    work()?;
    Ok(since.elapsed().as_secs_f64())
}

/// Seconds of processor time a piece of work takes, over all threads.
pub fn processor_seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before = processor_time()?;
    work()?;
    Ok(processor_time()? - before)
}

fn processor_time() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("ask for processor time")?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e6)
}

/// Current memory of this process in bytes.
pub fn memory() -> Result<f64> {
    status("VmRSS:")
}

/// Peak memory of this process in bytes.
pub fn peak_memory() -> Result<f64> {
    status("VmHWM:")
}

fn status(field: &str) -> Result<f64> {
    let text = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    kilobytes(&text, field).with_context(|| format!("{field} is not in /proc/self/status"))
}

/// A field of a process's status, in bytes.
pub fn kilobytes(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// A single-threaded tokio runtime, as in the program.
pub fn single_thread_runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// A tokio runtime with a thread per core, as in a server.
pub fn multi_thread_runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

/// Wall-clock seconds until a future is done.
pub fn time_future(runtime: &Runtime, work: impl Future<Output = Result<()>>) -> Result<f64> {
    seconds(|| runtime.block_on(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 12 kB\n";
        assert_eq!(kilobytes(status, "VmHWM:"), Some(2_097_152.0));
        assert_eq!(kilobytes(status, "VmPeak:"), None);
    }
}
