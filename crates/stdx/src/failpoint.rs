//! Named places where a test harness may kill or stall the process.
//!
//! Only with the cargo feature `failpoints`; without it everything here is empty and costs
//! nothing. `ROOFTREE_FAILPOINT=name:n` kills the process at the n-th time it reaches the
//! name, `ROOFTREE_STALL=name:n` makes it say `stalled NAME` on stderr and stand still (the
//! places of an agent that another one asked are called `name@1`, of one below that `name@2`),
//! `ROOFTREE_NOTES=FILE` makes it write down what cannot be seen from outside,
//! `ROOFTREE_ROOM=n` lets a database grow by no more than so many pages, and
//! `ROOFTREE_WITHOUT=fence`, `dedup`, `told`, `settle`, `sending` or `redaction` switches that guarantee off, so that
//! a harness can prove it would notice.

#[cfg(not(feature = "failpoints"))]
mod armed {
    /// Says that the process is at a named place.
    #[inline(always)]
    pub fn reach(_name: &str) {}

    /// Says that an agent so many delegations deep is at a named place.
    #[inline(always)]
    pub fn reach_at(_name: &str, _depth: u32) {}

    /// Writes something down for a harness: not here.
    #[inline(always)]
    pub fn note(_name: &str, _value: impl FnOnce() -> String) {}

    /// By how many pages a database may grow: no limit.
    #[inline(always)]
    pub fn room() -> Option<i64> {
        None
    }

    /// Whether a guarantee is switched off: never.
    #[inline(always)]
    pub fn is_without(_guarantee: &str) -> bool {
        false
    }
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::{
        collections::HashMap,
        env,
        fs::OpenOptions,
        io::Write,
        sync::{LazyLock, Mutex, PoisonError},
        thread,
        time::Duration,
    };

    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    /// What the environment asked for, read once.
    struct FailpointConfig {
        kill: Option<(String, u64)>,
        stall: Option<(String, u64)>,
        without: Vec<String>,
    }

    static ORDERS: LazyLock<FailpointConfig> = LazyLock::new(|| FailpointConfig {
        kill: place("ROOFTREE_FAILPOINT"),
        stall: place("ROOFTREE_STALL"),
        without: env::var("ROOFTREE_WITHOUT")
            .map(|all| all.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
    });
    static HITS: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(Mutex::default);

    fn place(variable: &str) -> Option<(String, u64)> {
        let text = env::var(variable).ok()?;
        let (name, count) = text.rsplit_once(':')?;
        Some((name.to_owned(), count.parse().ok()?))
    }

    /// Says that the process is at a named place.
    pub fn reach(name: &str) {
        let hit = {
            let mut hits = HITS.lock().unwrap_or_else(PoisonError::into_inner);
            let count = hits.entry(name.to_owned()).or_default();
            *count += 1;
            *count
        };
        let is_meant = |order: &Option<(String, u64)>| {
            order.as_ref().is_some_and(|(n, c)| n == name && *c == hit)
        };
        if is_meant(&ORDERS.kill) {
            // SIGKILL cannot fail for oneself, and nothing after it runs.
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
        if is_meant(&ORDERS.stall) {
            eprintln!("stalled {name}");
            thread::sleep(Duration::from_secs(30));
        }
    }

    /// Says that an agent so many delegations deep is at a named place.
    pub fn reach_at(name: &str, depth: u32) {
        if depth == 0 {
            reach(name)
        } else {
            reach(&format!("{name}@{depth}"))
        }
    }

    /// Writes something down for a harness: a line in a file that outlives the process.
    pub fn note(name: &str, value: impl FnOnce() -> String) {
        let Some(path) = env::var_os("ROOFTREE_NOTES") else {
            return;
        };
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(format!("{name} {}\n", value()).as_bytes()));
        if let Err(error) = written {
            eprintln!("cannot note {name}: {error}");
        }
    }

    /// By how many pages a database may grow, as if the disk were full then.
    pub fn room() -> Option<i64> {
        env::var("ROOFTREE_ROOM").ok()?.parse().ok()
    }

    /// Whether a guarantee is switched off.
    pub fn is_without(guarantee: &str) -> bool {
        ORDERS.without.iter().any(|off| off == guarantee)
    }
}

pub use armed::{is_without, note, reach, reach_at, room};
