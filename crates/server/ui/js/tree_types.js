// Types of a run tree: the fields of its canonical JSON (crates/view), and the lookup tables beside them.

/** @typedef {import('./types.js').EventOf<'permission.requested'>} PermissionRequested */
/** @typedef {import('./types.js').EventOf<'question.requested'>} QuestionRequested */

/**
 * A session, the sessions below it, and their runs, folded from events.
 * @typedef {object} Tree
 * @property {string | null} root
 * @property {TreeSession[]} sessions In the order in which they were first heard of.
 * @property {TreeRun[]} runs In the order in which they were first heard of.
 * @property {OpenInquiry[]} inquiries In the order in which they were asked.
 * @property {TreeIndex} index
 */

/**
 * Lookup tables; not part of the canonical JSON.
 * @typedef {object} TreeIndex
 * @property {Map<string, TreeSession>} sessions
 * @property {Map<string, TreeRun>} runs
 * @property {Map<string, number>} order The place of each run in the list.
 * @property {Map<string, string>} parents The run that delegated each.
 * @property {Map<string, TreeRun[]>} below The runs that each delegated.
 */

/**
 * @typedef {object} TreeSession
 * @property {string} session
 * @property {string} agent
 * @property {string | null} name
 * @property {import('./types.js').ForkPoint | null} forked_from
 * @property {boolean} is_deleted
 * @property {number} head The last durable event that was applied; zero before the first.
 * @property {import('./types.js').PermissionMode | null} mode The permission mode, if it was changed.
 * @property {string[]} queued Messages known to wait in the inbox, oldest first.
 * @property {string[]} awaiting Background tasks it started and has not been told the end of.
 * @property {import('./types.js').Todo[]} todos
 * @property {{ used: number, limit: number } | null} context Tokens in the context window.
 * @property {number} clears
 * @property {number} compactions
 * @property {TreeNotice[]} notices The last ones outside of a run.
 */

/**
 * @typedef {object} TreeRun
 * @property {string} run
 * @property {string} session
 * @property {string} agent
 * @property {string | null} parent_run The run that it works for.
 * @property {import('./types.js').ParentCall | null} parent The call that delegated it, if that was seen.
 * @property {import('./types.js').RunMode | null} mode What started it; null until it has begun.
 * @property {string | null} message The message it answers.
 * @property {string} title What it was asked, in short.
 * @property {string} first_model
 * @property {string} model The model that answered last.
 * @property {RunPhase} phase
 * @property {RunActivity} activity
 * @property {{ text: string, is_cut: boolean }} answer From whole replies; empty after the end, which has it.
 * @property {string} streamed Text of the reply that is coming.
 * @property {boolean} is_reply_whole Whether deltas before the next durable event are ignored.
 * @property {string | undefined} coming The name of the reply that is coming, if its deltas told it.
 * @property {number} turns Replies that were seen.
 * @property {number} calls Ended calls that were seen.
 * @property {Required<import('./types.js').Usage>} usage
 * @property {Map<string, Required<import('./types.js').Usage>>} by_model
 * @property {TreeCall[]} running Oldest first.
 * @property {TreeCall[]} finished The last ones, oldest first.
 * @property {TreeWait[]} waits
 * @property {import('./types.js').Verdict | null} verdict
 * @property {TreeNotice[]} notices
 * @property {string} started_at
 * @property {string} updated_at
 * @property {ReportedEnd | null} reported Its end as the delegating call told it.
 * @property {import('./types.js').RunEnd | null} end
 */

/**
 * @typedef {{ is: 'queued' }
 *   | { is: 'working' }
 *   | { is: 'waiting', reason: import('./types.js').WaitReason, until: string | null, detail: string }
 *   | { is: 'ended', status: import('./types.js').RunStatus }} RunPhase
 */

/**
 * What a run did last.
 * @typedef {{ is: 'starting' | 'thinking' | 'answering' }
 *   | { is: 'reading', tokens: number }
 *   | { is: 'calling' | 'asking', tool: string, title: string }
 *   | { is: 'waiting', detail: string }} RunActivity
 */

/**
 * @typedef {object} TreeCall
 * @property {string} call
 * @property {string} tool
 * @property {import('./types.js').ToolKind | null} kind Null if its beginning was not seen.
 * @property {string} title
 * @property {string | null} inside The running call it is made from inside of.
 * @property {string | null} task The run it started or asked about.
 * @property {string} started_at
 * @property {string} output The last line it wrote.
 * @property {import('./types.js').Outcome | null} outcome
 * @property {number | null} duration_ms
 * @property {number} added Lines added to files.
 * @property {number} removed
 */

/**
 * @typedef {object} TreeWait
 * @property {import('./types.js').WaitReason} reason
 * @property {string} from
 * @property {string | null} to
 */

/**
 * @typedef {object} TreeNotice
 * @property {string} at
 * @property {import('./types.js').NoticeLevel} level
 * @property {string} code
 * @property {string} message
 * @property {string | null} hint
 */

/**
 * @typedef {object} ReportedEnd
 * @property {import('./types.js').RunStatus} status
 * @property {boolean | null} verified
 * @property {import('./types.js').Usage | null} usage
 * @property {number} duration_ms
 */

/**
 * A permission request or a question that waits for an answer.
 * @typedef {{ session: string, run: string | null, agent: string, asked_at: string }
 *   & (Pick<PermissionRequested, 'type' | 'data'> | Pick<QuestionRequested, 'type' | 'data'>)} OpenInquiry
 */

/**
 * What an event changed.
 * @typedef {object} TreeChange
 * @property {'nothing' | 'began' | 'ended' | 'updated'} kind `nothing`: it was applied before, or is part of something
 *   that is known whole.
 * @property {string} session The session of the event.
 * @property {string | null} run The run of the event.
 * @property {string | null} reported Another run that changed: the one whose delegation the event tells of.
 * @property {boolean} restarted The text of the reply that is coming was taken back, before anything was appended.
 * @property {string} appended What was appended to it.
 * @property {boolean} inquiries Whether the open inquiries changed.
 */

export {};
