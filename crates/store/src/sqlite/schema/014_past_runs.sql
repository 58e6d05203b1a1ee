-- Where the last runs of an agent are found. Only the begin and the end of a run change what is indexed here.
CREATE INDEX session_agent ON session (tenant, person, agent, rested_at);
CREATE INDEX journal_end ON journal (session, seq) WHERE type = 'run.completed';
