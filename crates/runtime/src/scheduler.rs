//! The scheduler: a service that sleeps until a schedule is due, fires it, and reviews what became of it.
//!
//! Several processes may run one on the same store. Each due time has one occurrence, whose primary key decides between
//! them; a firing is one transaction with its message. What is due stands in the store and nowhere else, so a scheduler
//! that starts has nothing to restore.

mod due_schedule;
mod fire;
mod gate;
mod message;
mod preflight;
mod review;
mod shell_command;
mod tick;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use rooftree_protocol::{Account, ChatTarget, Timestamp};
use rooftree_store::{
    OccurrenceRow, OccurrenceState, OccurrenceUpdate, ScheduleKind, ScheduleRow, ScheduledSession,
    SessionFilter, SessionPatch, Store, VisibleSessions,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Handle, Service, router::Router, runtime_context::RuntimeContext, schedules,
    services::StopService,
};

/// The longest sleep: the wall clock may be set, or the machine may have slept.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// A step of the clock between two looks at it that makes a computed sleep wrong.
const CLOCK_JUMP: Duration = Duration::from_millis(500);
/// The sleep after the store has failed.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Schedules that are read at a time.
const PAGE: usize = 64;
/// Sessions of a person in which his direct chat is looked for.
const RECENT: usize = 50;
/// How long a command without a model may take.
const COMMAND_TIME: Duration = Duration::from_secs(600);
/// How long an occurrence may be open whose session has nothing left to do.
const LOST_AFTER: i64 = 60_000;

/// The scheduler as a service of a runtime. Started by a server.
pub fn service() -> Service {
    Service::new("scheduler", start)
}

fn start(handle: &Handle) -> StopService {
    let Some((context, router)) = handle.hosted() else {
        return Box::new(|| async {}.boxed());
    };
    let stop = CancellationToken::new();
    let scheduler = Scheduler {
        context,
        router,
        stop: stop.clone(),
    };
    let work = tokio::spawn(Arc::new(scheduler).work());
    Box::new(move || {
        stop.cancel();
        work.map(drop).boxed()
    })
}

struct Scheduler {
    context: Arc<RuntimeContext>,
    router: Arc<Router>,
    stop: CancellationToken,
}

impl Scheduler {
    async fn work(self: Arc<Self>) {
        let mut news = self.context.schedule_news.subscribe();
        let mut changes = self.store().changes();
        loop {
            news.mark_unchanged();
            changes.mark_unchanged();
            let until = match self.look().await {
                Ok(until) => until,
                // The store tells its own trouble to its other callers too.
                Err(_) => self.now().after(AFTER_ERROR),
            };
            let before = self.now();
            let sleep = self.context.clock().sleep(until.since(before));
            if self.now().since(before) > CLOCK_JUMP {
                continue;
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.context.closing.cancelled() => return,
                () = sleep => {}
                _ = news.changed() => {}
                _ = changes.changed() => {}
            }
        }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.context.store()
    }

    fn now(&self) -> Timestamp {
        self.context.now()
    }

    /// Does what is to be done by now, and says until when there is nothing to do.
    async fn look(self: &Arc<Self>) -> Result<Timestamp, Error> {
        let now = self.now();
        self.give_up_lost().await?;
        self.review_all().await?;
        loop {
            let due = self.store().due_schedules(now, PAGE).await?;
            let is_all = due.len() < PAGE;
            self.handle_due(due).await?;
            if is_all {
                break;
            }
        }
        self.review_all().await?;
        let next = self.store().next_due().await?;
        let latest = now.after(LONGEST_SLEEP);
        let earliest = Timestamp(now.0 + 1);
        Ok(next.map_or(latest, |next| next.clamp(earliest, latest)))
    }

    /// Handles schedules whose time has come. Heartbeats of one agent are handled together.
    async fn handle_due(self: &Arc<Self>, due: Vec<ScheduleRow>) -> Result<(), Error> {
        let open = self.store().open_occurrences().await?;
        let mut beats: Vec<Vec<due_schedule::DueSchedule>> = Vec::new();
        for row in due {
            let is_heartbeat = row.plan.kind == ScheduleKind::Heartbeat;
            let Some(one) = self.decided(row, &open).await? else {
                continue;
            };
            if !is_heartbeat {
                self.begin(vec![one]).await?;
                continue;
            }
            match beats.iter_mut().find(|group| one.beats_with(group)) {
                Some(group) => group.push(one),
                None => beats.push(vec![one]),
            }
        }
        for group in beats {
            self.begin(group).await?;
        }
        Ok(())
    }

    /// Settles occurrences of which no process will tell the end: their session has nothing left to do, or the process that
    /// ran their command is gone.
    async fn give_up_lost(&self) -> Result<(), Error> {
        let now = self.now();
        let longest = i64::try_from(COMMAND_TIME.as_millis()).unwrap_or(i64::MAX) + LOST_AFTER;
        let open = self.store().open_occurrences().await?;
        let old = |one: &OccurrenceRow, age: i64| now.0 - one.started_at.0 > age;
        if !open.iter().any(|one| old(one, LOST_AFTER)) {
            return Ok(());
        }
        let unfinished = self.store().unfinished().await?;
        for one in open {
            let is_lost = match &one.session {
                Some(session) => old(&one, LOST_AFTER) && !unfinished.contains(session),
                None => old(&one, longest),
            };
            if is_lost {
                let settled = self.store().settle_occurrence(OccurrenceUpdate {
                    schedule: one.schedule,
                    due: one.due,
                    state: OccurrenceState::Unknown,
                    reason: Some("unknown".to_owned()),
                    detail: None,
                    answer: None,
                    at: now,
                });
                settled.await?;
            }
        }
        Ok(())
    }

    /// Reviews all occurrences that are over.
    async fn review_all(&self) -> Result<(), Error> {
        loop {
            let over = self.store().unreviewed_occurrences(PAGE).await?;
            for one in &over {
                self.review(one).await?;
            }
            if over.len() < PAGE {
                return Ok(());
            }
        }
    }

    async fn review(&self, one: &OccurrenceRow) -> Result<(), Error> {
        let Some(row) = self.store().schedule(&one.schedule).await? else {
            return Ok(());
        };
        let known = self.store().incidents(&row.id).await?;
        let chat = self.failure_chat(&row).await?;
        let mut review = review::review(&row, one, &known, chat.as_ref(), self.now());
        review.shown = review::is_for_board(&review, one)
            .then(|| Box::new(message::failure_session(&self.context, &row)));
        // Before the review: a crash in between does it again, and changes nothing.
        self.put_away(&row, one).await?;
        let is_told = !review.outbox.is_empty();
        self.store().review_occurrence(review).await?;
        if is_told {
            self.context.chats.note_posted();
        }
        self.context.schedule_news.tell_watchers();
        Ok(())
    }

    /// Where failures of a schedule are told: its chat for failures, else that for results, else the direct chat of its
    /// owner. One whose connector is gone is passed over.
    async fn failure_chat(&self, row: &ScheduleRow) -> Result<Option<ChatTarget>, Error> {
        let known = self.store().connectors(&row.account.tenant).await?;
        let is_known = |chat: &ChatTarget| {
            let mut names = known.iter().map(|connector| &connector.name);
            names.any(|name| name.eq_ignore_ascii_case(&chat.connector))
        };
        let plan = &row.plan;
        let mut own = [&plan.fail_target, &plan.target].into_iter().flatten();
        if let Some(chat) = own.find(|chat| is_known(chat)) {
            return Ok(Some(chat.without_reply()));
        }
        Ok(self.direct_chat(&row.account).await?.filter(is_known))
    }

    /// The direct chat in which a person spoke last. Never a group.
    async fn direct_chat(&self, account: &Account) -> Result<Option<ChatTarget>, Error> {
        let filter = SessionFilter {
            tenant: Some(account.tenant.clone()),
            visible: VisibleSessions::of_account(account),
            foreground: true,
            limit: RECENT,
            ..SessionFilter::default()
        };
        let sessions = self.store().sessions(filter).await?.into_iter();
        let mut chats = sessions.filter_map(|session| session.chat);
        let direct = chats.find(|chat| !chat.group);
        Ok(direct.map(|chat| chat.without_reply()))
    }

    /// A heartbeat that had nothing to say leaves no session behind in lists.
    ///
    /// Invariant: only a session that was opened for this due time is put away. One that is used again is needed again.
    async fn put_away(&self, row: &ScheduleRow, one: &OccurrenceRow) -> Result<(), Error> {
        let is_silent = one.answer.as_deref().is_some_and(schedules::is_silent);
        let is_done = one.state == OccurrenceState::Completed;
        let (Some(session), true) = (&one.session, is_silent && is_done) else {
            return Ok(());
        };
        let is_own = row.plan.session == ScheduledSession::New;
        if is_own && row.plan.kind == ScheduleKind::Heartbeat {
            let patch = SessionPatch {
                deleted_at: Some(Some(self.now())),
                ..SessionPatch::default()
            };
            self.store().update(session, patch).await?;
        }
        Ok(())
    }
}
