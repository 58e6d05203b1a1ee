-- Sums of the last days are read without reading those of all days.
CREATE INDEX usage_by_day ON usage (day);
