-- Text that an event repeats is stored once. `copies` says which bytes to insert where when the event is read:
-- `at,from,length` within the same row, `at,from,length,seq` from another event of the session; several are separated
-- by `;`. NULL: `data` is the event as it is. Hashes are those of the whole event.
ALTER TABLE journal ADD COLUMN copies TEXT;
