//! Slash commands about the conversation of a chat: begin, reset, stop, resume, hand over, go back, show.

use rooftree_connectors::Inbound;
use rooftree_protocol::{
    EventBody, Lane, Origin, Part, Session, SessionId, Usage,
    command::{Command, CommandReply, HandBackSummary},
};
use rooftree_runtime::{ChatAddress, Error, ReceivedChatMessage};
use rooftree_store::{RunFilter, SessionFilter, VisibleSessions};

use super::super::{
    address::reply_target,
    chat_inbox::{ChatInbox, KnownSender, message_id},
};

/// Sessions that are listed.
const LISTED: usize = 10;
/// Messages that are counted.
const COUNTED: usize = 100;

impl ChatInbox {
    /// Begins a new conversation with an agent, and says something to it.
    pub(super) async fn begin(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        (agent, words): (Option<&str>, &str),
    ) -> Result<String, Error> {
        let chat = ChatAddress {
            new: self.new_session(agent),
            ..sender.address.clone()
        };
        let arrived = self.arrived_key(&inbound.key);
        let session = self.handle.begin_chat(&sender.who, &chat, &arrived).await?;
        self.say(inbound, sender, words).await?;
        let agent = session.agent;
        Ok(format!(
            "A new conversation with {agent}. /back returns to the one before."
        ))
    }

    /// Posts what follows a command to the session that the chat talks to now.
    async fn say(&self, inbound: &Inbound, sender: &KnownSender, words: &str) -> Result<(), Error> {
        if words.is_empty() {
            return Ok(());
        }
        let reply = reply_target(&self.name, &inbound.place, message_id(inbound));
        let message = ReceivedChatMessage {
            parts: vec![Part::text(words)],
            origin: Origin::Connector {
                connector: self.name.clone(),
                channel: inbound.place.chat.clone(),
                user: inbound.from.id.clone(),
                reply: Some(reply),
            },
            key: self.key_of(&inbound.key),
            context: None,
            inbound: vec![self.arrived_key(&format!("{}/say", inbound.key))],
        };
        let posted = self
            .handle
            .post_from_chat(&sender.who, &sender.address, message);
        posted.await.map(drop)
    }

    pub(super) async fn reset(&self, sender: &KnownSender) -> Result<String, Error> {
        let Some(session) = self.current(sender).await? else {
            return Ok("There is nothing to forget yet.".into());
        };
        let command = Command::Clear {
            session: session.id,
            unless_busy: false,
        };
        self.send_command(sender, command).await?;
        Ok("Forgotten. The conversation begins anew; its journal is kept.".into())
    }

    pub(super) async fn stop_run(&self, sender: &KnownSender) -> Result<String, Error> {
        let Some(session) = self.current(sender).await? else {
            return Ok("Nothing is being worked on.".into());
        };
        let queries = self.handle.queries(&sender.who);
        if !queries.is_unfinished(&session.id).await? {
            return Ok("Nothing is being worked on.".into());
        }
        let command = Command::Cancel {
            session: session.id,
            run: None,
        };
        self.send_command(sender, command).await?;
        // The run says itself that it was stopped.
        Ok(String::new())
    }

    pub(super) async fn status(&self, sender: &KnownSender) -> Result<String, Error> {
        let Some(session) = self.current(sender).await? else {
            return Ok(format!(
                "No conversation yet. The next message begins one with {}.",
                self.agent
            ));
        };
        let queries = self.handle.queries(&sender.who);
        let is_busy = queries.is_unfinished(&session.id).await?;
        let waiting = queries.waiting(&session.id, Lane::Mail, COUNTED).await?;
        let open = queries.inquiries(Some(&session.id)).await?.len();
        let mut lines = vec![
            format!("agent: {}", session.agent),
            format!("session: {}", shown(&session)),
            format!("now: {}", if is_busy { "working" } else { "idle" }),
        ];
        if let Some(model) = &session.model {
            lines.push(format!("model: {model}"));
        }
        if !waiting.is_empty() {
            lines.push(format!("waiting messages: {}", waiting.len()));
        }
        if open > 0 {
            lines.push(format!("open requests: {open} (/approve lists them)"));
        }
        Ok(lines.join("\n"))
    }

    pub(super) async fn sessions(&self, sender: &KnownSender) -> Result<String, Error> {
        let current = self.current(sender).await?;
        let found = self.own_sessions(sender, None).await?;
        if found.is_empty() {
            return Ok("There are no conversations yet.".into());
        }
        let lines = found.iter().map(|session| {
            let is_current = current.as_ref().is_some_and(|open| open.id == session.id);
            let mark = if is_current { " ←" } else { "" };
            let said: String = session.last_snippet.chars().take(60).collect();
            format!("{} · {} · {said}{mark}", shown(session), session.agent)
        });
        let lines: Vec<String> = lines.collect();
        Ok(format!(
            "{}\n\n/resume ID goes on with one.",
            lines.join("\n")
        ))
    }

    /// Sessions of the sender himself, the most recently spoken to first. In a group these are those of the group.
    async fn own_sessions(
        &self,
        sender: &KnownSender,
        called: Option<&str>,
    ) -> Result<Vec<Session>, Error> {
        let filter = SessionFilter {
            visible: VisibleSessions {
                person: Some(sender.who.person.clone()),
                ..VisibleSessions::default()
            },
            top_level: Some(true),
            foreground: called.is_none(),
            called: called.map(str::to_owned),
            limit: COUNTED,
            ..SessionFilter::default()
        };
        let mut found = self.handle.queries(&sender.who).sessions(filter).await?;
        let chat = &sender.address.chat;
        // What is said in a direct chat is not told in a group.
        found.retain(|session| !chat.group || session.chat.as_ref() == Some(chat));
        found.truncate(LISTED);
        Ok(found)
    }

    pub(super) async fn resume(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        words: &str,
    ) -> Result<String, Error> {
        if words.is_empty() {
            return self.sessions(sender).await;
        }
        let found = self.own_sessions(sender, Some(words)).await?;
        let [session] = found.as_slice() else {
            let how_many = if found.is_empty() {
                "No"
            } else {
                "More than one"
            };
            return Ok(format!(
                "{how_many} conversation matches `{words}`. /sessions lists them."
            ));
        };
        let own = session.chat.as_ref();
        let is_own = own.is_some_and(|chat| chat.connector == self.name);
        if self.settings.mode.is_some() && !is_own {
            // Its mode is not bounded by this connector.
            return Ok("That conversation was not begun here; go on with it where it was.".into());
        }
        self.rebind(inbound, sender, &session.id).await?;
        Ok(format!(
            "Going on with {} ({}). /back returns to the one before.",
            shown(session),
            session.agent
        ))
    }

    pub(super) async fn agent(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        words: &str,
    ) -> Result<String, Error> {
        let (name, message) = first_word(words);
        if name.is_empty() {
            let names = self.handle.agent_names();
            return Ok(format!(
                "Agents: {}\n\n/agent NAME begins with one.",
                names.join(", ")
            ));
        }
        self.begin(inbound, sender, (Some(name), message)).await
    }

    pub(super) async fn switch(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        words: &str,
    ) -> Result<String, Error> {
        let (name, message) = first_word(words);
        let Some(session) = self.current(sender).await? else {
            return Ok("There is no conversation to hand over yet.".into());
        };
        if name.is_empty() {
            return Ok("To which agent? /agent lists them.".into());
        }
        let command = Command::Fork {
            session: session.id.clone(),
            at: None,
            name: None,
            agent: Some(name.to_owned()),
            message: None,
        };
        let CommandReply::Session(switched) = self.send_command(sender, command).await? else {
            return Ok(String::new());
        };
        self.rebind(inbound, sender, &switched.id).await?;
        self.say(inbound, sender, message).await?;
        Ok(format!(
            "{} goes on and knows all that was said. /back returns to {}.",
            switched.agent, session.agent
        ))
    }

    pub(super) async fn back(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        words: &str,
    ) -> Result<String, Error> {
        let key = &sender.address.key;
        let before = self.handle.previous_chat_session(&sender.who, key).await?;
        let Some(before) = before else {
            return Ok("There is no conversation before this one.".into());
        };
        if let Some(session) = self.current(sender).await? {
            let handed_over = session.forked_from.as_ref();
            if handed_over.is_some_and(|from| from.session == before.id) {
                let command = Command::HandBack {
                    session: session.id,
                    summary: HandBackSummary::Extract,
                };
                self.send_command(sender, command).await?;
            }
        }
        self.rebind(inbound, sender, &before.id).await?;
        self.say(inbound, sender, words).await?;
        Ok(format!("Back to {} ({}).", shown(&before), before.agent))
    }

    async fn rebind(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        session: &SessionId,
    ) -> Result<(), Error> {
        let arrived = self.arrived_key(&inbound.key);
        let previous = self.current(sender).await?.map(|session| session.id);
        let bound =
            self.handle
                .bind_chat(&sender.who, &sender.address, (session, previous), &arrived);
        bound.await.map(drop)
    }

    pub(super) async fn usage(&self, sender: &KnownSender) -> Result<String, Error> {
        let Some(session) = self.current(sender).await? else {
            return Ok("Nothing was used yet.".into());
        };
        let filter = RunFilter {
            session: Some(session.id),
            ..RunFilter::default()
        };
        let runs = self.handle.queries(&sender.who).runs(filter).await?;
        let mut sum = Usage::none();
        for run in &runs {
            if let Some(EventBody::RunCompleted(end)) = run.ended.as_ref().map(|end| &end.body) {
                sum += end.usage;
            }
        }
        let cost = if sum.cost_complete {
            format!("${:.4}", sum.cost_usd)
        } else {
            format!("at least ${:.4}", sum.cost_usd)
        };
        Ok(format!(
            "{} runs, {} tokens in, {} out, {cost}",
            runs.len(),
            sum.input,
            sum.output
        ))
    }

    /// The session that the chat talks to.
    pub(super) async fn current(&self, sender: &KnownSender) -> Result<Option<Session>, Error> {
        let found = self.handle.chat_session(&sender.who, &sender.address.key);
        found.await
    }
}

/// The name of a session, or the end of its id.
fn shown(session: &Session) -> String {
    let id = session.id.as_str();
    let end = id.len().saturating_sub(6);
    let short = id.get(end..).unwrap_or(id);
    session.name.clone().unwrap_or_else(|| short.to_owned())
}

fn first_word(words: &str) -> (&str, &str) {
    match words.split_once(char::is_whitespace) {
        Some((first, rest)) => (first, rest.trim()),
        None => (words, ""),
    }
}
