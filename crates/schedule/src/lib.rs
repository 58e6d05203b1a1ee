//! Computes when a schedule is due: written forms, cron expressions with a time zone, the next times, and both in words.
