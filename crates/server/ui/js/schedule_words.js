// Schedules and deliveries in words: what happened to an occurrence, when the next one is, what a connector is like. Pure.
// @ts-check

/** What a run came to. @type {Record<string, string>} */
const EXECUTIONS = {completed: 'done', failed: 'failed', skipped: 'skipped', running: 'at work', unknown: 'outcome unknown'};
/** What became of its message. @type {Record<string, string>} */
const DELIVERIES = {queued: 'message waits to be sent', sent: 'message sent', failed: 'message not delivered', unknown: 'message perhaps delivered', unverified: 'message sent, not confirmed'};

/** A moment in milliseconds; the server writes it as text. @param {any} at */
export function millis(at) {
  return typeof at === 'string' ? Date.parse(at) : at;
}

/** A schedule with its moments in milliseconds. @param {any} schedule */
export function timed(schedule) {
  const past = (/** @type {any} */ one) => one && {...one, due: millis(one.due), ended: millis(one.ended)};
  return {...schedule, next_due: millis(schedule.next_due), next: (schedule.next ?? []).map(millis), last: past(schedule.last), history: (schedule.history ?? []).map(past)};
}

/** An occurrence in words: the run and the message are told apart. @param {any} occurrence */
export function occurrenceWords({execution, delivery, reason}) {
  const run = EXECUTIONS[execution] ?? execution;
  const message = DELIVERIES[delivery];
  return [reason ? `${run} (${reason.replaceAll('_', ' ')})` : run, message].filter(Boolean).join(', ');
}

/** Whether somebody should look at an occurrence. @param {any} occurrence */
export function isTrouble({execution, delivery}) {
  return execution === 'failed' || execution === 'unknown' || delivery === 'failed';
}

/** How long until a moment: now, in 5 min, in 3 h, in 2 d. @param {number} at @param {number} now */
export function until(at, now) {
  const seconds = Math.round((at - now) / 1000);
  if (seconds < 30) return 'now';
  if (seconds < 3600) return `in ${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `in ${Math.round(seconds / 3600)} h`;
  return `in ${Math.round(seconds / 86_400)} d`;
}

/** A moment in a zone: Wed 18 Nov, 09:00. @param {number} at @param {string} [zone] */
export function moment(at, zone) {
  const form = /** @type {const} */ ({weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
  try {
    return new Date(at).toLocaleString('en-GB', {...form, timeZone: zone || undefined});
  } catch {
    // A zone that this browser does not know.
    return new Date(at).toLocaleString('en-GB', form);
  }
}

/** What a schedule is up to, and how much that matters. @param {any} schedule @param {number} now @returns {{words: string, kind: 'off' | 'paused' | 'due' | 'none'}} */
export function nextWords(schedule, now) {
  if (!schedule.enabled) return schedule.disabled_reason ? {words: `Switched off: ${schedule.disabled_reason.replaceAll('_', ' ')}`, kind: 'off'} : {words: 'Paused', kind: 'paused'};
  if (schedule.last?.execution === 'running') return {words: 'At work now', kind: 'due'};
  if (!schedule.next_due) return {words: schedule.kind === 'event' ? 'When something happens' : 'Not again', kind: 'none'};
  return {words: `${moment(schedule.next_due, schedule.zone)} · ${until(schedule.next_due, now)}`, kind: 'due'};
}

/** The newest occurrences, oldest first. @param {any} schedule @param {number} [most] */
export function occurrences(schedule, most = 20) {
  return [...(schedule.history ?? [])].sort((one, other) => one.due - other.due).slice(-most);
}

/** Schedules in the order of a list: those that need somebody first, then by their next time, paused ones last. @param {any[]} schedules */
export function sortSchedules(schedules) {
  const place = (/** @type {any} */ one) => (one.disabled_reason && !one.enabled ? 0 : one.enabled ? 1 : 2);
  return [...schedules].sort((one, other) => place(one) - place(other) || (one.next_due ?? Infinity) - (other.next_due ?? Infinity) || one.name.localeCompare(other.name));
}

/** The state of a connector in words. @param {any} health */
export function healthWords({state, reason}) {
  const words = {up: 'Connected', connecting: 'Connecting', degraded: 'Not connected now', stopped: 'Stopped', off: 'Switched off'}[/** @type {string} */ (state)] ?? state;
  return reason ? `${words}: ${reason}` : words;
}

/** How much a state matters. @param {string} state @returns {'ok' | 'busy' | 'bad' | 'off'} */
export function healthKind(state) {
  if (state === 'up') return 'ok';
  if (state === 'connecting') return 'busy';
  return state === 'off' ? 'off' : 'bad';
}

/** Time that is left: 4:05. @param {number} at @param {number} now */
export function countdown(at, now) {
  const seconds = Math.max(0, Math.ceil((at - now) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
