"""Compares our due times with croniter and cronsim over ten years in twelve zones, and prints every difference.

Ours must equal both where they agree. Where they do not, and on days of a clock change, ours must equal cronsim,
which follows Debian's cron. One thing is excepted, and printed: an expression that goes by elapsed time is due exactly
when the clock shows a matching time, and after a change by half an hour cronsim's jumps of whole hours pass over some.
"""

import json
import multiprocessing
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

FIRST_YEAR, LAST_YEAR = 2016, 2025

# With every kind of change: at midnight, at two, by half an hour, for Ramadan, given up in between, none.
ZONES = [
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Havana",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "UTC",
]

# Compared over all ten years.
WHOLE = [
    "0 9 * * *",
    "30 2 * * *",
    "0 0 * * *",
    "30 1 * * 0-2",
    "15 3 * * MON,WED,FRI",
    "59 23 * * SUN,MON",
    "0 2-3 * * 0",
    "0,30 0 * * SAT-7",
    "30 0,1,2 * * SUN",
    "20 2/12 * * 7",
    "0 0 1 * *",
    "30 2 31 * *",
    "0 0 29 2 *",
    "0 0 L * *",
    "30 1 LW * *",
    "0 9 1,15 * *",
    "0 9 1-7 * MON",
    "0 9 13 * FRI",
    "30 2 25-31 3,10 SUN",
    "0 0 1 1 0",
    "30 2 */2 * SUN",
    "0 7 1-31/10 * *",
    "0 7 5 * */3",
    "0 0 1 */3 *",
    "0 0 10-20/5 JAN-MAR *",
    "0 6 * JUN-AUG TUE",
    "0 0 * * 5#2",
    "30 2 * * SUN#5",
    "30 1 * * 0L",
    "0 2 * OCT-NOV 0,6",
    "15 30 9 * * 1",
]

# Due often: compared on the first day of each half-year and around each change of the clock.
FREQUENT = [
    "0 * * * *",
    "*/15 * * * *",
    "30 */2 * * *",
    "*/20 9-17 * * 1-5",
    "5-59/25 * * * *",
    "0-30/10 1-3 * * *",
    "*/10 0 * * *",
    "*/10 2 * * *",
    "*/10 3 * * *",
    "0 0-23 * * *",
    "7 1/3 * * *",
    "*/30 * * * 0",
    "0 */6 1,L * *",
]

# What another program spells differently, or with None does not know.
CRONITER = {"30 1 LW * *": None, "30 1 * * 0L": "30 1 * * L0"}


def windows(expression, changes):
    """Pairs of seconds since 1970, which do not overlap."""
    first, last = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (FIRST_YEAR, LAST_YEAR + 1))
    if expression in WHOLE:
        return [(int(first.timestamp()), int(last.timestamp()))]
    years = range(FIRST_YEAR, LAST_YEAR + 1)
    halves = [datetime(year, month, 1, tzinfo=timezone.utc) for year in years for month in (1, 7)]
    starts = [int(start.timestamp()) for start in halves]
    spans = [(start, start + 86400) for start in starts]
    spans += [(change - 12 * 3600, change + 28 * 3600) for change in changes]
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def clock_changes(zone):
    """The hours in which the clock is changed, and the local dates of the days on which it is."""
    local = ZoneInfo(zone)
    hours, dates = [], set()
    first, last = (int(datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()) for year in (FIRST_YEAR, LAST_YEAR + 1))
    before = datetime.fromtimestamp(first, local)
    for second in range(first + 3600, last, 3600):
        now = datetime.fromtimestamp(second, local)
        if now.utcoffset() != before.utcoffset():
            hours.append(second)
            dates |= {before.date(), now.date()}
        before = now
    return hours, dates


def oracle(start_next, spans, local):
    """Due times within the spans by a function that makes an iterator from its start."""
    found = []
    for start, end in spans:
        for due in start_next(datetime.fromtimestamp(start, local)):
            if due > end:
                break
            found.append(int(due))
    return found


def by_cronsim(expression):
    return lambda start: (due.timestamp() for due in CronSim(expression, start))


def by_croniter(expression):
    # What it calls a bug is Vixie cron's rule for a day field that begins with a star.
    options = {"ret_type": float, "second_at_beginning": True, "implement_cron_bug": True}
    return lambda start: croniter(expression, start, **options).all_next()


def shows_match(expression, local, second):
    """Whether the clock shows a time that matches at this moment."""
    clock = datetime.fromtimestamp(second, local)
    fields = CronSim(expression, datetime(2000, 1, 1))
    return (
        clock.second in fields.seconds
        and clock.minute in fields.minutes
        and clock.hour in fields.hours
        and clock.month in fields.months
        and fields.match_day(clock.date())
    )


def judge(task):
    """Compares one expression in one zone; returns the lines to print and whether ours is as it must be."""
    expression, zone, spans, dates, ours = task
    local = ZoneInfo(zone)
    ours = set(ours)
    sim = set(oracle(by_cronsim(expression), spans, local))
    spelled = CRONITER.get(expression, expression)
    iter_ = set(oracle(by_croniter(spelled), spans, local)) if spelled else None
    by_elapsed_time = any(field.startswith("*") for field in expression.split()[-5:-3])
    lines, failed = [], not ours or not sim
    shown = lambda second: datetime.fromtimestamp(second, local).strftime("%Y-%m-%d %H:%M%z")
    for second in sorted(ours ^ sim):
        date = datetime.fromtimestamp(second, local).date()
        # A jump from the day of the change can miss the next day's first minutes.
        is_near = date in dates or date - timedelta(days=1) in dates
        is_right = (second in ours) == shows_match(expression, local, second)
        excused = by_elapsed_time and is_near and is_right
        failed |= not excused
        who = "only ours" if second in ours else "only cronsim"
        lines.append(f"{'' if excused else 'WRONG: '}{expression} {zone} {shown(second)}: {who}")
    if spelled is None:
        return lines, failed, len(ours)
    apart = sorted((ours & sim) - iter_), sorted(iter_ - (ours | sim))
    for who, seconds in zip(("not croniter", "only croniter"), apart):
        if seconds:
            lines.append(f"{expression} {zone}: {who}: {', '.join(map(shown, seconds))}")
    return lines, failed, len(ours)


def main():
    program = sys.argv[1]
    changes = {zone: clock_changes(zone) for zone in ZONES}
    asked = [
        {"expression": expression, "zone": zone, "windows": windows(expression, changes[zone][0])}
        for expression in WHOLE + FREQUENT
        for zone in ZONES
    ]
    answer = subprocess.run([program], input=json.dumps(asked), capture_output=True, text=True, check=True)
    tasks = [
        (one["expression"], one["zone"], one["windows"], changes[one["zone"]][1], ours)
        for one, ours in zip(asked, json.loads(answer.stdout), strict=True)
    ]
    failures = compared = 0
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for lines, failed, count in pool.imap(judge, tasks, chunksize=4):
            failures += failed
            compared += count
            for line in lines:
                print(line)
    passed = len(tasks) - failures
    print(f"{compared} due times of {len(WHOLE + FREQUENT)} expressions in {len(ZONES)} zones")
    print(f"test result: {'FAILED' if failures else 'ok'}. {passed} passed; {failures} failed; 0 ignored")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
