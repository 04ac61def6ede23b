-- Generated from tables.py: make generate.
CREATE TABLE chunk_vectors (
	number INTEGER NOT NULL,
	digest BLOB NOT NULL,
	model VARCHAR NOT NULL,
	vector BLOB NOT NULL,
	PRIMARY KEY (number)
);
CREATE UNIQUE INDEX ix_chunk_vectors_key ON chunk_vectors (digest, model);
CREATE TABLE citation_checks (
	anchor BLOB NOT NULL,
	stamp VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	path VARCHAR,
	first INTEGER,
	last INTEGER,
	name VARCHAR,
	PRIMARY KEY (anchor)
)
 WITHOUT ROWID;
CREATE TABLE cited_files (
	path VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	PRIMARY KEY (path, number)
)
 WITHOUT ROWID;
CREATE INDEX ix_cited_files_number ON cited_files (number);
CREATE TABLE entries (
	number INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	title VARCHAR NOT NULL,
	title_key VARCHAR NOT NULL,
	provenances VARCHAR NOT NULL,
	tags VARCHAR NOT NULL,
	scope VARCHAR NOT NULL,
	merge_key VARCHAR,
	claim_id VARCHAR,
	ttl_policy VARCHAR NOT NULL,
	expires INTEGER,
	expires_by_default BOOLEAN NOT NULL,
	confidence VARCHAR,
	supersedes VARCHAR NOT NULL,
	status VARCHAR NOT NULL,
	written_status VARCHAR NOT NULL,
	author VARCHAR NOT NULL,
	contributors VARCHAR NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	version VARCHAR NOT NULL,
	heads VARCHAR NOT NULL,
	path VARCHAR NOT NULL,
	anchors VARCHAR NOT NULL,
	reaffirmed INTEGER,
	aliases VARCHAR NOT NULL,
	source VARCHAR,
	extra VARCHAR NOT NULL,
	filed BOOLEAN NOT NULL,
	digest BLOB NOT NULL,
	content VARCHAR NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (id)
);
CREATE INDEX ix_entries_key ON entries (merge_key, scope);
CREATE INDEX ix_entries_path ON entries (path);
CREATE INDEX ix_entries_title_key ON entries (title_key);
CREATE INDEX ix_entries_updated ON entries (updated);
CREATE TABLE entry_chunks (
	number INTEGER NOT NULL,
	place INTEGER NOT NULL,
	stamp BLOB NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number, place)
)
 WITHOUT ROWID;
CREATE INDEX ix_entry_chunks_digest ON entry_chunks (digest);
CREATE TABLE event_copies (
	segment VARCHAR NOT NULL,
	"offset" INTEGER NOT NULL,
	length INTEGER NOT NULL,
	has_text BOOLEAN NOT NULL,
	hash BLOB NOT NULL,
	PRIMARY KEY (segment, "offset")
);
CREATE INDEX ix_event_copies_hash ON event_copies (hash);
CREATE TABLE event_feedback (
	event INTEGER NOT NULL,
	entry_id VARCHAR NOT NULL,
	outcome VARCHAR NOT NULL,
	PRIMARY KEY (event, entry_id)
)
 WITHOUT ROWID;
CREATE TABLE event_parents (
	parent BLOB NOT NULL,
	child INTEGER NOT NULL,
	PRIMARY KEY (parent, child)
)
 WITHOUT ROWID;
CREATE INDEX ix_event_parents_child ON event_parents (child);
CREATE TABLE event_subjects (
	subject VARCHAR NOT NULL,
	event INTEGER NOT NULL,
	PRIMARY KEY (subject, event)
)
 WITHOUT ROWID;
CREATE INDEX ix_event_subjects_event ON event_subjects (event);
CREATE TABLE events (
	number INTEGER NOT NULL,
	hash BLOB NOT NULL,
	event_id VARCHAR NOT NULL,
	ledger VARCHAR NOT NULL,
	type VARCHAR NOT NULL,
	recorded INTEGER NOT NULL,
	agent VARCHAR NOT NULL,
	segment VARCHAR NOT NULL,
	"offset" INTEGER NOT NULL,
	length INTEGER NOT NULL,
	has_text BOOLEAN NOT NULL,
	is_head BOOLEAN NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (hash)
);
CREATE INDEX ix_events_event_id ON events (event_id);
CREATE INDEX ix_events_heads ON events (ledger) WHERE is_head;
CREATE INDEX ix_events_segment ON events (segment);
CREATE TABLE feedback (
	entry_id VARCHAR NOT NULL,
	helped INTEGER NOT NULL,
	neutral INTEGER NOT NULL,
	hurt INTEGER NOT NULL,
	unknown INTEGER NOT NULL,
	PRIMARY KEY (entry_id)
);
CREATE TABLE findings (
	id VARCHAR NOT NULL,
	task_id VARCHAR NOT NULL,
	agent VARCHAR NOT NULL,
	summary VARCHAR NOT NULL,
	knowledge_id VARCHAR,
	recorded INTEGER NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX ix_findings_task_id ON findings (task_id);
CREATE TABLE link_mentions (
	name VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	PRIMARY KEY (name, number)
)
 WITHOUT ROWID;
CREATE INDEX ix_link_mentions_number ON link_mentions (number);
CREATE TABLE link_names (
	name VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	PRIMARY KEY (name, number)
)
 WITHOUT ROWID;
CREATE INDEX ix_link_names_number ON link_names (number);
CREATE TABLE markdown_files (
	path VARCHAR NOT NULL,
	entry_id VARCHAR NOT NULL,
	stamp VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	PRIMARY KEY (path)
);
CREATE INDEX ix_markdown_files_entry_id ON markdown_files (entry_id);
CREATE TABLE merged_events (
	hash BLOB NOT NULL,
	PRIMARY KEY (hash)
)
 WITHOUT ROWID;
CREATE TABLE merged_segments (
	path VARCHAR NOT NULL,
	size INTEGER NOT NULL,
	PRIMARY KEY (path)
)
 WITHOUT ROWID;
CREATE TABLE meta (
	"key" VARCHAR NOT NULL,
	value VARCHAR NOT NULL,
	PRIMARY KEY ("key")
);
CREATE TABLE pending_markdown (
	path VARCHAR NOT NULL,
	entry_id VARCHAR NOT NULL,
	blocked VARCHAR,
	PRIMARY KEY (path)
);
CREATE TABLE promotion_uses (
	promotion VARCHAR NOT NULL,
	entry_id VARCHAR NOT NULL,
	PRIMARY KEY (promotion, entry_id)
)
 WITHOUT ROWID;
CREATE INDEX ix_promotion_uses_entry_id ON promotion_uses (entry_id);
CREATE TABLE promotions (
	id VARCHAR NOT NULL,
	recorded INTEGER NOT NULL,
	source_entry_id VARCHAR NOT NULL,
	source_version VARCHAR NOT NULL,
	source_hash VARCHAR NOT NULL,
	target_id VARCHAR,
	evidence_refs VARCHAR NOT NULL,
	actor VARCHAR NOT NULL,
	reason VARCHAR NOT NULL,
	approved_by VARCHAR,
	revoked BOOLEAN NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE redactions (
	event_id VARCHAR NOT NULL,
	redaction INTEGER NOT NULL,
	PRIMARY KEY (event_id, redaction)
)
 WITHOUT ROWID;
CREATE INDEX ix_redactions_redaction ON redactions (redaction);
CREATE TABLE segment_problems (
	segment VARCHAR NOT NULL,
	line INTEGER NOT NULL,
	code VARCHAR NOT NULL,
	message VARCHAR NOT NULL,
	tail BOOLEAN NOT NULL,
	PRIMARY KEY (segment, line)
);
CREATE TABLE segments (
	path VARCHAR NOT NULL,
	size INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	inode INTEGER NOT NULL,
	PRIMARY KEY (path)
);
CREATE TABLE tasks (
	id VARCHAR NOT NULL,
	title VARCHAR NOT NULL,
	description VARCHAR NOT NULL,
	tags VARCHAR NOT NULL,
	agent VARCHAR NOT NULL,
	created INTEGER NOT NULL,
	status VARCHAR NOT NULL,
	decided VARCHAR NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX ix_tasks_status ON tasks (status);
