//! URL paths of the HTTP API, as server and clients use them.

/// What all paths of the API begin with.
pub const API_PREFIX: &str = "/api/v1";
/// The event stream over many sessions: `POST` opens one.
pub const STREAM: &str = "/stream";
/// One open stream: `PATCH` adds and removes sessions.
pub const STREAM_ONE: &str = "/stream/{stream}";
/// Sessions.
pub const SESSIONS: &str = "/sessions";
/// One session.
pub const SESSION: &str = "/sessions/{session}";
/// The events of one session: a page of JSON, or a stream.
pub const SESSION_EVENTS: &str = "/sessions/{session}/events";
/// The messages of one session: `POST` sends one.
pub const SESSION_MESSAGES: &str = "/sessions/{session}/messages";
/// Command files and skills that a person can type behind a slash.
pub const PROMPTS: &str = "/prompts";
/// `POST` sends the text of a command file or skill to a session.
pub const SESSION_PROMPTS: &str = "/sessions/{session}/prompts";
/// How far a session was seen: `POST` moves the mark.
pub const SESSION_READ: &str = "/sessions/{session}/read";
/// Commands of every kind: `POST` carries one out.
pub const COMMANDS: &str = "/commands";
/// The messages that wait in a session's inbox.
pub const SESSION_QUEUE: &str = "/sessions/{session}/queue";
/// One message that waits: `PUT` replaces it, `DELETE` withdraws it.
pub const SESSION_QUEUED: &str = "/sessions/{session}/queue/{message}";
/// Lets a session forget its context.
pub const SESSION_CLEAR: &str = "/sessions/{session}/clear";
/// Lets a session go on with what is unfinished.
pub const SESSION_RESUME: &str = "/sessions/{session}/resume";
/// Brings a deleted session back.
pub const SESSION_RESTORE: &str = "/sessions/{session}/restore";
/// Branches a session off another one.
pub const SESSION_FORK: &str = "/sessions/{session}/fork";
/// Hands a conversation over to another agent.
pub const SESSION_SWITCH: &str = "/sessions/{session}/switch";
/// Goes back from a conversation that was handed over.
pub const SESSION_BACK: &str = "/sessions/{session}/back";
/// File changes of the last run: `GET` previews, `POST` takes them back.
pub const SESSION_UNDO: &str = "/sessions/{session}/undo";
/// The todo list of a session.
pub const SESSION_TODOS: &str = "/sessions/{session}/todos";
/// A session with all its events.
pub const SESSION_EXPORT: &str = "/sessions/{session}/export";
/// Makes a session out of an exported one.
pub const SESSION_IMPORT: &str = "/sessions/import";
/// Messages and replies that contain words.
pub const SEARCH: &str = "/search";
/// Uploads bytes for a message.
pub const ATTACHMENTS: &str = "/attachments";
/// Stored bytes.
pub const BLOB: &str = "/blobs/{blob}";
/// Runs.
pub const RUNS: &str = "/runs";
/// One run.
pub const RUN: &str = "/runs/{run}";
/// Stops a run.
pub const RUN_CANCEL: &str = "/runs/{run}/cancel";
/// Moves a delegated run to background.
pub const RUN_BACKGROUND: &str = "/runs/{run}/background";
/// When a run and those below it worked and waited.
pub const RUN_TRACE: &str = "/runs/{run}/trace";
/// Background agents and programs.
pub const TASKS: &str = "/tasks";
/// One of them.
pub const TASK: &str = "/tasks/{task}";
/// What a program wrote.
pub const TASK_OUTPUT: &str = "/tasks/{task}/output";
/// Stops a task.
pub const TASK_STOP: &str = "/tasks/{task}/stop";
/// Sends a message to a background agent.
pub const TASK_SEND: &str = "/tasks/{task}/messages";
/// Permission requests.
pub const PERMISSIONS: &str = "/permissions";
/// One permission request: `POST` answers it.
pub const PERMISSION: &str = "/permissions/{permission}";
/// Questions of agents.
pub const QUESTIONS: &str = "/questions";
/// One question: `POST` answers it.
pub const QUESTION: &str = "/questions/{question}";
/// Saved permission rules.
pub const RULES: &str = "/permission-rules";
/// One saved rule.
pub const RULE: &str = "/permission-rules/{rule}";
/// Agents.
pub const AGENTS: &str = "/agents";
/// One agent.
pub const AGENT: &str = "/agents/{agent}";
/// Tools, model and limits of an agent, each with its reason.
pub const AGENT_EFFECTIVE: &str = "/agents/{agent}/effective";
/// The definition of an agent as a Markdown file.
pub const AGENT_FILE: &str = "/agents/{agent}/file";
/// Checks the text of a definition without keeping it.
pub const AGENT_VALIDATE: &str = "/agents/validate";
/// Models.
pub const MODELS: &str = "/models";
/// The default model: `PUT` sets it where none is set.
pub const DEFAULT_MODEL: &str = "/models/default";
/// Providers of models and search, and where the key of each comes from.
pub const PROVIDERS: &str = "/providers";
/// The stored key of a provider: `PUT` stores, `DELETE` removes it.
pub const PROVIDER_KEY: &str = "/providers/{provider}/key";
/// Model servers that answer on this machine.
pub const LOCAL_SERVERS: &str = "/local-servers";
/// `POST` begins a session with a scripted model.
pub const DEMO: &str = "/demo";
/// Tools.
pub const TOOLS: &str = "/tools";
/// Skills.
pub const SKILLS: &str = "/skills";
/// MCP servers.
pub const MCP_SERVERS: &str = "/mcp";
/// Hooks.
pub const HOOKS: &str = "/hooks";
/// Tokens and cost by agent, model, day or session.
pub const USAGE: &str = "/usage";
/// The JSON Schema of events.
pub const EVENT_SCHEMA: &str = "/schema/events";
/// The board: who needs a person, what works, what is done.
pub const BOARD: &str = "/board";

/// `POST` exchanges the secret of a one-time link for a cookie.
pub const LOGIN: &str = "/login";
/// `POST` ends the token of a browser.
pub const LOGOUT: &str = "/logout";
/// Who the caller is and what he may do.
pub const ME: &str = "/me";
/// Access tokens.
pub const TOKENS: &str = "/tokens";
/// One access token.
pub const TOKEN: &str = "/tokens/{token}";
/// Persons.
pub const PERSONS: &str = "/persons";
/// One person.
pub const PERSON: &str = "/persons/{person}";
/// `POST` makes a one-time link for another browser of a person.
pub const PERSON_LINKS: &str = "/persons/{person}/links";
/// Schedules.
pub const SCHEDULES: &str = "/schedules";
/// `POST` says what a written form means.
pub const SCHEDULE_PREVIEW: &str = "/schedules/preview";
/// One schedule.
pub const SCHEDULE: &str = "/schedules/{schedule}";
/// `POST` has a schedule run now.
pub const SCHEDULE_RUN: &str = "/schedules/{schedule}/run";
/// `POST` switches a schedule off.
pub const SCHEDULE_PAUSE: &str = "/schedules/{schedule}/pause";
/// `POST` switches a schedule on.
pub const SCHEDULE_RESUME: &str = "/schedules/{schedule}/resume";
/// What became of the due times of a schedule.
pub const SCHEDULE_HISTORY: &str = "/schedules/{schedule}/history";
/// Failures of a schedule with the same cause.
pub const SCHEDULE_INCIDENTS: &str = "/schedules/{schedule}/incidents";
/// Tells of an incident of a schedule no more.
pub const SCHEDULE_ACKNOWLEDGE: &str = "/schedules/{schedule}/acknowledge";
/// The audit log.
pub const AUDIT: &str = "/audit";
/// Messages to chats.
pub const OUTBOX: &str = "/outbox";
/// Delivers a message to a chat again.
pub const OUTBOX_RETRY: &str = "/outbox/{message}/retry";
/// Gives up a message to a chat.
pub const OUTBOX_DROP: &str = "/outbox/{message}/drop";

/// A path with its parameters filled in, in order. Parameters are percent-encoded.
pub fn fill(path: &str, parameters: &[&str]) -> String {
    let mut filled = String::from(API_PREFIX);
    let mut parameters = parameters.iter();
    for piece in path.split_inclusive('/') {
        let (piece, slash) = piece
            .strip_suffix('/')
            .map_or((piece, ""), |piece| (piece, "/"));
        if piece.starts_with('{') {
            encode(&mut filled, parameters.next().copied().unwrap_or_default());
        } else {
            filled.push_str(piece);
        }
        filled.push_str(slash);
    }
    filled
}

fn encode(filled: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte) {
            filled.push(char::from(byte));
        } else {
            filled.push_str(&format!("%{byte:02X}"));
        }
    }
}
/// Connectors.
pub const CONNECTORS: &str = "/connectors";
/// One connector.
pub const CONNECTOR: &str = "/connectors/{connector}";
/// `POST` makes a pairing code.
pub const CONNECTOR_PAIR: &str = "/connectors/{connector}/pair";
/// `POST` confirms the code that an unknown sender was told.
pub const CONNECTOR_CONFIRM: &str = "/connectors/{connector}/confirm";
/// `POST` sends a test message.
pub const CONNECTOR_TEST: &str = "/connectors/{connector}/test";
/// A sender who is paired.
pub const CONNECTOR_SENDER: &str = "/connectors/{connector}/people/{sender}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded() {
        assert_eq!(
            fill(SESSION_EVENTS, &["ses_a/../b"]),
            "/api/v1/sessions/ses_a%2F..%2Fb/events"
        );
        assert_eq!(fill(STREAM, &[]), "/api/v1/stream");
    }
}
