//! Order, turns, and who is woken for what.

use std::thread;

use super::*;

#[test]
fn everyones_things_come_out_in_the_order_they_were_put_in() {
    let (entry, exit) = write_queue();
    let putters: Vec<_> = (0..4)
        .map(|putter| {
            let entry = entry.clone();
            thread::spawn(move || (0..1_000).for_each(|number| entry.put((putter, number))))
        })
        .collect();
    drop(entry);
    let mut taken = VecDeque::new();
    let mut worth = (1..40).cycle();
    while exit.begin(None) != Err(QueueEmpty::Ever) {
        let _ = exit.wait_for(worth.next().unwrap(), None);
        exit.take_all(&mut taken);
        exit.end();
    }
    putters
        .into_iter()
        .for_each(|putter| putter.join().unwrap());
    for putter in 0..4 {
        assert!(
            taken
                .iter()
                .filter(|(by, _)| *by == putter)
                .map(|(_, number)| *number)
                .eq(0..1_000)
        );
    }
}

#[test]
fn whoever_waits_for_more_than_come_gets_those_who_came() {
    let (entry, exit) = write_queue();
    let soon = Some(Duration::from_micros(1));
    assert_eq!(exit.wait_for(2, soon), Err(QueueEmpty::Yet));
    entry.put(1);
    assert_eq!(exit.wait_for(2, soon), Ok(()));
    drop(entry);
    assert_eq!(exit.wait_for(2, None), Ok(()));
    let mut taken = VecDeque::from([0]);
    exit.take_all(&mut taken);
    assert_eq!(taken, [0, 1]);
    assert_eq!(exit.wait_for(1, None), Err(QueueEmpty::Ever));
}

#[test]
fn what_is_laid_down_waits_for_the_next_one_or_for_a_call() {
    let (entry, exit) = write_queue();
    let taker = thread::spawn(move || {
        let mut taken = VecDeque::new();
        let mut sizes = Vec::new();
        while exit.begin(None) != Err(QueueEmpty::Ever) {
            exit.take_all(&mut taken);
            sizes.push(mem::take(&mut taken).len());
            exit.end();
        }
        sizes
    });
    let until_idle = || {
        while entry.0.0.state().idle == 0 {
            thread::yield_now();
        }
    };
    until_idle();
    entry.put_without_wake(1);
    entry.put_without_wake(2);
    assert!(!entry.0.0.state().is_called, "nobody is called for these");
    entry.waker().wake();
    while !entry.0.0.state().waiting.is_empty() {
        thread::yield_now();
    }
    until_idle();
    entry.waker().wake();
    entry.put_without_wake(3);
    entry.put(4);
    drop(entry);
    assert_eq!(taker.join().unwrap(), [2, 2]);
}

#[test]
fn one_at_a_time_has_the_turn_and_the_other_is_called_when_it_ends() {
    let (entry, exit) = write_queue();
    let exit = Arc::new(exit);
    let other = Arc::clone(&exit);
    exit.end();
    entry.put(1);
    assert_eq!(exit.begin(None), Ok(()));
    let waits = thread::spawn(move || other.begin(None));
    while entry.0.0.state().idle == 0 {
        thread::yield_now();
    }
    entry.put(2);
    assert!(!entry.0.0.state().is_called, "somebody is at it already");
    exit.end();
    assert_eq!(waits.join().unwrap(), Ok(()));
    assert_eq!(
        exit.begin(Some(Duration::from_micros(1))),
        Err(QueueEmpty::Yet)
    );
}

#[test]
fn what_is_urgent_is_not_kept_waiting_for_more() {
    let (entry, exit) = write_queue();
    entry.put(1);
    entry.put_urgent(2);
    assert_eq!(exit.wait_for(8, None), Ok(()));
    let mut taken = VecDeque::new();
    exit.take_all(&mut taken);
    let nudge = entry.nudge();
    let taker = thread::spawn(move || exit.wait_for(8, None));
    entry.put(3);
    nudge();
    assert_eq!(taker.join().unwrap(), Ok(()));
    assert_eq!(taken, [1, 2]);
}

#[test]
fn what_is_put_in_when_nobody_takes_any_more_is_dropped() {
    let (entry, exit) = write_queue();
    let (before, after) = (Arc::new(()), Arc::new(()));
    entry.put(Arc::clone(&before));
    drop(exit);
    entry.put(Arc::clone(&after));
    assert_eq!(
        (Arc::strong_count(&before), Arc::strong_count(&after)),
        (1, 1)
    );
}
