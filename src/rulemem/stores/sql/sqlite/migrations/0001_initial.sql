-- The first schema. Every key starts with the scope, so that no row can be reached without it
-- and the tables can be partitioned by it. Ids come from `sequences` and are never used twice:
-- work that started before a turn was forgotten cannot land on a newer one.
-- Times are ISO 8601 as they were given, with or without an offset; `instant` is the same in
-- microseconds since 1970 for sorting, naive times read as UTC.

CREATE TABLE scopes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: caches are keyed by it
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO sequences (name, last)
VALUES ('turn', 0), ('fact', 0), ('entity', 0), ('rule', 0), ('key', 0), ('verdict', 0), ('answer', 0);

-- More than one row only while vectors are recomputed with another embedder.
CREATE TABLE embedders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL CHECK (dimension > 0),
    current INTEGER NOT NULL CHECK (current IN (0, 1)),
    UNIQUE (name, dimension)
) STRICT;

CREATE UNIQUE INDEX one_current_embedder ON embedders (current) WHERE current = 1;

-- --- turns: the source of everything else ---------------------------------------------------

CREATE TABLE turns (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    id INTEGER NOT NULL,
    conversation TEXT NOT NULL,
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    caption TEXT NOT NULL,
    said_at TEXT,
    instant INTEGER,
    state TEXT NOT NULL CHECK (state IN ('pending', 'extracted', 'failed')),
    reason TEXT NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0 CHECK (embedded IN (0, 1)),  -- turn and window vectors are there
    PRIMARY KEY (scope, id),
    UNIQUE (scope, conversation, key)
) STRICT;

CREATE INDEX turns_in_order ON turns (scope, conversation, position, id);
CREATE INDEX turns_by_state ON turns (scope, state);
CREATE INDEX turns_to_embed ON turns (scope) WHERE embedded = 0;

-- A turn together with the one before it. `predecessor` is whose words are in it besides: when
-- that turn is edited or forgotten, so is the window.
CREATE TABLE windows (
    scope INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    predecessor INTEGER,
    text TEXT NOT NULL,
    PRIMARY KEY (scope, turn),
    FOREIGN KEY (scope, turn) REFERENCES turns (scope, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX windows_by_predecessor ON windows (scope, predecessor);

-- --- fact memory ----------------------------------------------------------------------------

CREATE TABLE facts (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    id INTEGER NOT NULL,
    subject TEXT NOT NULL,
    relation TEXT NOT NULL,
    object TEXT NOT NULL,
    text TEXT NOT NULL,
    starts TEXT,
    ends TEXT,
    precision TEXT NOT NULL,
    raw TEXT NOT NULL,
    said_at TEXT,
    instant INTEGER,  -- of `starts`, or else of `said_at`
    speaker TEXT NOT NULL,
    negated INTEGER NOT NULL CHECK (negated IN (0, 1)),
    extractor TEXT NOT NULL,
    valid_until TEXT,
    closed_by INTEGER CHECK (closed_by <> id),
    identity BLOB NOT NULL,  -- digest of the normalised quadruple
    PRIMARY KEY (scope, id),
    UNIQUE (scope, identity),
    FOREIGN KEY (scope, closed_by) REFERENCES facts (scope, id) DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE INDEX facts_by_closer ON facts (scope, closed_by) WHERE closed_by IS NOT NULL;

CREATE TABLE fact_turns (
    scope INTEGER NOT NULL,
    fact INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (scope, fact, turn),
    FOREIGN KEY (scope, fact) REFERENCES facts (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, turn) REFERENCES turns (scope, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX fact_turns_by_turn ON fact_turns (scope, turn);

CREATE TABLE entities (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    id INTEGER NOT NULL,
    name_key TEXT NOT NULL,  -- normalised
    name TEXT NOT NULL,  -- as it was first written
    PRIMARY KEY (scope, id),
    UNIQUE (scope, name_key)
) STRICT;

CREATE TABLE fact_entities (
    scope INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    fact INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('subject', 'object')),
    PRIMARY KEY (scope, entity, fact, role),
    FOREIGN KEY (scope, entity) REFERENCES entities (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, fact) REFERENCES facts (scope, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX fact_entities_by_fact ON fact_entities (scope, fact);

-- Which facts a learning task has seen.
CREATE TABLE learned (
    scope INTEGER NOT NULL,
    fact INTEGER NOT NULL,
    task TEXT NOT NULL,
    PRIMARY KEY (scope, fact, task),
    FOREIGN KEY (scope, fact) REFERENCES facts (scope, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE VIEW fact_records AS
SELECT f.*, (SELECT json_group_array(s.turn) FROM fact_turns s
             WHERE s.scope = f.scope AND s.fact = f.id) AS turns
FROM facts f;

-- --- rule memory ----------------------------------------------------------------------------

CREATE TABLE rules (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    id INTEGER NOT NULL,
    body TEXT NOT NULL,  -- JSON array of atoms
    head TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('candidate', 'admitted', 'rejected', 'retired', 'disabled')),
    inducer TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
) STRICT;

CREATE INDEX rules_by_status ON rules (scope, status);

CREATE TABLE rule_keys (
    scope INTEGER NOT NULL,
    id INTEGER NOT NULL,
    rule INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (scope, id),
    FOREIGN KEY (scope, rule) REFERENCES rules (scope, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX rule_keys_by_rule ON rule_keys (scope, rule);

-- In the order of the atoms that the facts bound.
CREATE TABLE key_facts (
    scope INTEGER NOT NULL,
    key INTEGER NOT NULL,
    position INTEGER NOT NULL,
    fact INTEGER NOT NULL,
    PRIMARY KEY (scope, key, position),
    FOREIGN KEY (scope, key) REFERENCES rule_keys (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, fact) REFERENCES facts (scope, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX key_facts_by_fact ON key_facts (scope, fact);

CREATE TABLE key_turns (
    scope INTEGER NOT NULL,
    key INTEGER NOT NULL,
    position INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (scope, key, position),
    FOREIGN KEY (scope, key) REFERENCES rule_keys (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, turn) REFERENCES turns (scope, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX key_turns_by_turn ON key_turns (scope, turn);

CREATE VIEW key_records AS
SELECT k.*,
       (SELECT json_group_array(fact) FROM (SELECT fact FROM key_facts f
        WHERE f.scope = k.scope AND f.key = k.id ORDER BY f.position)) AS facts,
       (SELECT json_group_array(turn) FROM (SELECT turn FROM key_turns t
        WHERE t.scope = k.scope AND t.key = k.id ORDER BY t.position)) AS turns
FROM rule_keys k;

-- All verdicts of a rule are kept; the one with the highest id is in force.
CREATE TABLE verdicts (
    scope INTEGER NOT NULL,
    id INTEGER NOT NULL,
    rule INTEGER NOT NULL,
    nll_empty REAL NOT NULL,
    nll_body REAL NOT NULL,
    nll_evidence REAL NOT NULL,
    score REAL NOT NULL,
    alpha REAL NOT NULL,
    tau REAL NOT NULL,
    form TEXT NOT NULL,
    admitted INTEGER NOT NULL CHECK (admitted IN (0, 1)),
    reason TEXT NOT NULL,
    self_supported INTEGER NOT NULL CHECK (self_supported IN (0, 1)),
    model TEXT NOT NULL,
    PRIMARY KEY (scope, id),
    FOREIGN KEY (scope, rule) REFERENCES rules (scope, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX verdicts_by_rule ON verdicts (scope, rule, id);

CREATE TABLE verdict_facts (
    scope INTEGER NOT NULL,
    verdict INTEGER NOT NULL,
    position INTEGER NOT NULL,
    fact INTEGER NOT NULL,
    PRIMARY KEY (scope, verdict, position),
    FOREIGN KEY (scope, verdict) REFERENCES verdicts (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, fact) REFERENCES facts (scope, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX verdict_facts_by_fact ON verdict_facts (scope, fact);

CREATE VIEW verdict_records AS
SELECT v.*, (SELECT json_group_array(fact) FROM (SELECT fact FROM verdict_facts e
             WHERE e.scope = v.scope AND e.verdict = v.id ORDER BY e.position)) AS evidence
FROM verdicts v;

-- --- answers and costs ----------------------------------------------------------------------

CREATE TABLE answers (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    id INTEGER NOT NULL,
    body TEXT NOT NULL,  -- the record as JSON
    PRIMARY KEY (scope, id)
) STRICT;

CREATE TABLE answer_turns (
    scope INTEGER NOT NULL,
    answer INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (scope, answer, turn),
    FOREIGN KEY (scope, answer) REFERENCES answers (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, turn) REFERENCES turns (scope, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_turns_by_turn ON answer_turns (scope, turn);

CREATE TABLE answer_facts (
    scope INTEGER NOT NULL,
    answer INTEGER NOT NULL,
    fact INTEGER NOT NULL,
    PRIMARY KEY (scope, answer, fact),
    FOREIGN KEY (scope, answer) REFERENCES answers (scope, id) ON DELETE CASCADE,
    FOREIGN KEY (scope, fact) REFERENCES facts (scope, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_facts_by_fact ON answer_facts (scope, fact);

CREATE TABLE costs (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    stage TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (scope, stage)
) STRICT, WITHOUT ROWID;

-- --- full text and vectors ------------------------------------------------------------------
-- An inverted file of our own instead of FTS5: frequencies are counted within a scope and kind
-- (what one scope holds never moves the ranking of another), removed words leave at once, and
-- another engine holds the same rows and so ranks the same (docs of `words.py`).

CREATE TABLE documents (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('turn', 'window', 'fact', 'key')),
    item INTEGER NOT NULL,
    length INTEGER NOT NULL,  -- terms, repeats included
    terms TEXT NOT NULL,  -- JSON array of distinct terms, to find the postings again
    PRIMARY KEY (scope, kind, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE postings (
    scope INTEGER NOT NULL,
    kind TEXT NOT NULL,
    term TEXT NOT NULL,
    item INTEGER NOT NULL,
    occurrences INTEGER NOT NULL,
    length INTEGER NOT NULL,  -- of the document, here too so that ranking reads one table
    PRIMARY KEY (scope, kind, term, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows in the order of commits: readers load what is newer
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    embedder INTEGER NOT NULL REFERENCES embedders (id),
    kind TEXT NOT NULL CHECK (kind IN ('turn', 'window', 'fact', 'key', 'head')),
    item INTEGER NOT NULL,
    vector BLOB NOT NULL,  -- little-endian float32, unit length
    UNIQUE (scope, kind, item, embedder)
) STRICT;

CREATE INDEX vectors_in_order ON vectors (scope, embedder, kind, id);

-- Totals per scope and kind, kept by the triggers below.
CREATE TABLE indexes (
    scope INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    documents INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0,  -- sum of the lengths of the documents
    removals INTEGER NOT NULL DEFAULT 0,  -- vectors ever removed: a reader that saw fewer is stale
    PRIMARY KEY (scope, kind)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    INSERT INTO indexes (scope, kind, documents, words) VALUES (NEW.scope, NEW.kind, 1, NEW.length)
    ON CONFLICT (scope, kind) DO UPDATE SET documents = documents + 1, words = words + NEW.length;
END;

CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    DELETE FROM postings
    WHERE scope = OLD.scope AND kind = OLD.kind AND item = OLD.item
      AND term IN (SELECT value FROM json_each(OLD.terms));
    UPDATE indexes SET documents = documents - 1, words = words - OLD.length
    WHERE scope = OLD.scope AND kind = OLD.kind;
END;

CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    INSERT INTO indexes (scope, kind) VALUES (NEW.scope, NEW.kind) ON CONFLICT (scope, kind) DO NOTHING;
END;

CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE indexes SET removals = removals + 1 WHERE scope = OLD.scope AND kind = OLD.kind;
END;

-- Full text and vectors go with the row that they stand for, however it goes.
CREATE TRIGGER turn_removed AFTER DELETE ON turns BEGIN
    DELETE FROM documents WHERE scope = OLD.scope AND kind = 'turn' AND item = OLD.id;
    DELETE FROM vectors WHERE scope = OLD.scope AND kind = 'turn' AND item = OLD.id;
END;

CREATE TRIGGER window_removed AFTER DELETE ON windows BEGIN
    DELETE FROM documents WHERE scope = OLD.scope AND kind = 'window' AND item = OLD.turn;
    DELETE FROM vectors WHERE scope = OLD.scope AND kind = 'window' AND item = OLD.turn;
    UPDATE turns SET embedded = 0 WHERE scope = OLD.scope AND id = OLD.turn;
END;

CREATE TRIGGER fact_removed AFTER DELETE ON facts BEGIN
    DELETE FROM documents WHERE scope = OLD.scope AND kind = 'fact' AND item = OLD.id;
    DELETE FROM vectors WHERE scope = OLD.scope AND kind = 'fact' AND item = OLD.id;
END;

CREATE TRIGGER key_removed AFTER DELETE ON rule_keys BEGIN
    DELETE FROM documents WHERE scope = OLD.scope AND kind = 'key' AND item = OLD.id;
    DELETE FROM vectors WHERE scope = OLD.scope AND kind = 'key' AND item = OLD.id;
END;

CREATE TRIGGER rule_removed AFTER DELETE ON rules BEGIN
    DELETE FROM vectors WHERE scope = OLD.scope AND kind = 'head' AND item = OLD.id;
END;
