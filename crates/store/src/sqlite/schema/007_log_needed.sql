-- 1 in a database file that was copied without the log it needs. The log of a database in use says 0; a checkpoint at
-- the begin of use puts a 1 into the file below it, and the last process to leave moves the 0 there.
CREATE TABLE log_needed (needed INTEGER NOT NULL) STRICT;
INSERT INTO log_needed VALUES (0);
