-- The queries of the SQLite store, loaded by name. Parameters are always bound, lists travel as
-- one JSON array. Every query names :scope, except those of the section "across scopes".

-- === across scopes ==========================================================================

-- name: find_scope
-- Id of a scope; no row when nothing was ever stored in it.
SELECT id FROM scopes WHERE name = :name

-- name: add_scope
INSERT INTO scopes (name) VALUES (:name) RETURNING id

-- name: list_scopes
-- Scopes that hold anything.
SELECT s.name FROM scopes s
WHERE EXISTS (SELECT 1 FROM turns t WHERE t.scope = s.id)
   OR EXISTS (SELECT 1 FROM rules r WHERE r.scope = s.id)
   OR EXISTS (SELECT 1 FROM answers a WHERE a.scope = s.id)
   OR EXISTS (SELECT 1 FROM costs c WHERE c.scope = s.id)
ORDER BY s.name

-- name: next_id
-- Ids are taken inside the transaction that uses them and never given twice.
UPDATE sequences SET last = last + 1 WHERE name = :name RETURNING last

-- name: current_embedder
SELECT id, name, dimension FROM embedders WHERE current = 1

-- name: find_embedder
SELECT id FROM embedders WHERE name = :name AND dimension = :dimension

-- name: add_embedder
INSERT INTO embedders (name, dimension, current) VALUES (:name, :dimension, :current) RETURNING id

-- name: delete_vectors_of_other_embedders
DELETE FROM vectors WHERE embedder <> :embedder

-- name: delete_other_embedders
DELETE FROM embedders WHERE id <> :embedder

-- name: make_embedder_current
UPDATE embedders SET current = 1 WHERE id = :embedder

-- name: count_without
-- Vectors that have no counterpart by another embedder yet.
SELECT count(*) FROM vectors v
WHERE v.embedder = :current
  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.scope = v.scope AND n.kind = v.kind
                  AND n.item = v.item AND n.embedder = :embedder)

-- name: find_orphans
-- Rows that stand for nothing, and totals that are off. Empty in a sound store.
SELECT 'document of no item' AS problem, d.scope, d.kind, d.item FROM documents d
WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE d.kind = 'turn' AND t.scope = d.scope AND t.id = d.item)
  AND NOT EXISTS (SELECT 1 FROM windows w WHERE d.kind = 'window' AND w.scope = d.scope AND w.turn = d.item)
  AND NOT EXISTS (SELECT 1 FROM facts f WHERE d.kind = 'fact' AND f.scope = d.scope AND f.id = d.item)
  AND NOT EXISTS (SELECT 1 FROM rule_keys k WHERE d.kind = 'key' AND k.scope = d.scope AND k.id = d.item)
UNION ALL
SELECT 'vector of no item', v.scope, v.kind, v.item FROM vectors v
WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE v.kind = 'turn' AND t.scope = v.scope AND t.id = v.item)
  AND NOT EXISTS (SELECT 1 FROM windows w WHERE v.kind = 'window' AND w.scope = v.scope AND w.turn = v.item)
  AND NOT EXISTS (SELECT 1 FROM facts f WHERE v.kind = 'fact' AND f.scope = v.scope AND f.id = v.item)
  AND NOT EXISTS (SELECT 1 FROM rule_keys k WHERE v.kind = 'key' AND k.scope = v.scope AND k.id = v.item)
  AND NOT EXISTS (SELECT 1 FROM rules r WHERE v.kind = 'head' AND r.scope = v.scope AND r.id = v.item)
UNION ALL
SELECT 'posting of no document', p.scope, p.kind, p.item FROM postings p
WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.scope = p.scope AND d.kind = p.kind AND d.item = p.item)
UNION ALL
SELECT 'document with wrong postings', d.scope, d.kind, d.item FROM documents d
WHERE json_array_length(d.terms) <> (SELECT count(*) FROM json_each(d.terms) j CROSS JOIN postings p
    ON p.scope = d.scope AND p.kind = d.kind AND p.term = j.value AND p.item = d.item)
UNION ALL
SELECT 'turn without text index', t.scope, 'turn', t.id FROM turns t
WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.scope = t.scope AND d.kind = 'turn' AND d.item = t.id)
UNION ALL
SELECT 'fact without text index', f.scope, 'fact', f.id FROM facts f
WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.scope = f.scope AND d.kind = 'fact' AND d.item = f.id)
UNION ALL
SELECT 'fact without vector', f.scope, 'fact', f.id FROM facts f
WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.scope = f.scope AND v.kind = 'fact' AND v.item = f.id)
UNION ALL
SELECT 'fact without source', f.scope, 'fact', f.id FROM facts f
WHERE NOT EXISTS (SELECT 1 FROM fact_turns s WHERE s.scope = f.scope AND s.fact = f.id)
UNION ALL
SELECT 'entity without fact', e.scope, 'entity', e.id FROM entities e
WHERE NOT EXISTS (SELECT 1 FROM fact_entities l WHERE l.scope = e.scope AND l.entity = e.id)
UNION ALL
SELECT 'key without support', k.scope, 'key', k.id FROM rule_keys k
WHERE NOT EXISTS (SELECT 1 FROM key_facts f WHERE f.scope = k.scope AND f.key = k.id)
  AND NOT EXISTS (SELECT 1 FROM key_turns t WHERE t.scope = k.scope AND t.key = k.id)
UNION ALL
SELECT 'key without vector', k.scope, 'key', k.id FROM rule_keys k
WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.scope = k.scope AND v.kind = 'key' AND v.item = k.id)
UNION ALL
SELECT 'rule without vector', r.scope, 'head', r.id FROM rules r
WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.scope = r.scope AND v.kind = 'head' AND v.item = r.id)
UNION ALL
SELECT 'turn marked embedded without vectors', t.scope, 'turn', t.id FROM turns t
WHERE t.embedded = 1 AND NOT (
      EXISTS (SELECT 1 FROM vectors v WHERE v.scope = t.scope AND v.kind = 'turn' AND v.item = t.id)
  AND EXISTS (SELECT 1 FROM vectors v WHERE v.scope = t.scope AND v.kind = 'window' AND v.item = t.id))
UNION ALL
SELECT 'wrong totals', i.scope, i.kind, 0 FROM indexes i
WHERE i.documents <> (SELECT count(*) FROM documents d WHERE d.scope = i.scope AND d.kind = i.kind)
   OR i.words <> (SELECT coalesce(sum(d.length), 0) FROM documents d
                  WHERE d.scope = i.scope AND d.kind = i.kind)

-- === turns ==================================================================================

-- name: find_turn
-- The stored turn of an identity, to tell unchanged from edited.
SELECT id, speaker, text, caption, said_at FROM turns
WHERE scope = :scope AND conversation = :conversation AND key = :key

-- name: add_turn
INSERT INTO turns (scope, id, conversation, session, key, position, speaker, text, caption,
                   said_at, instant, state, reason)
VALUES (:scope, :id, :conversation, :session, :key, :position, :speaker, :text, :caption,
        :said_at, :instant, :state, :reason)

-- name: edit_turn
UPDATE turns
SET speaker = :speaker, text = :text, caption = :caption, said_at = :said_at, instant = :instant,
    state = 'pending', reason = '', embedded = 0
WHERE scope = :scope AND id = :id

-- name: turns
SELECT * FROM turns WHERE scope = :scope
ORDER BY conversation, position, id

-- name: turns_by_id
SELECT * FROM turns WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: turns_of_conversation
SELECT * FROM turns WHERE scope = :scope AND conversation = :conversation
ORDER BY position, id

-- name: turns_in_state
SELECT * FROM turns WHERE scope = :scope AND state = :state
ORDER BY conversation, position, id

-- name: turns_to_embed
SELECT * FROM turns WHERE scope = :scope AND embedded = 0
ORDER BY conversation, position, id

-- name: mark_turns
UPDATE turns SET state = :state, reason = :reason
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: mark_embedded
UPDATE turns SET embedded = 1 WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: existing_turns
SELECT id FROM turns WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: select_turns
-- Ids of the turns that a call to `forget` names; NULL leaves a selector out.
SELECT id FROM turns
WHERE scope = :scope
  AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))
  AND (:conversation IS NULL OR conversation = :conversation)
  AND (:session IS NULL OR session = :session)

-- name: add_window
-- The turn just before it, in the order in which turns are read, is the one whose words it holds.
INSERT INTO windows (scope, turn, text, predecessor)
SELECT t.scope, t.id, :text,
       (SELECT p.id FROM turns p
        WHERE p.scope = t.scope AND p.conversation = t.conversation
          AND (p.position, p.id) < (t.position, t.id)
        ORDER BY p.position DESC, p.id DESC LIMIT 1)
FROM turns t WHERE t.scope = :scope AND t.id = :turn

-- name: predecessors
-- The turn whose words stand in a turn's window, where both are of one session.
SELECT w.turn, w.predecessor
FROM windows w
JOIN turns t ON t.scope = w.scope AND t.id = w.turn
JOIN turns p ON p.scope = w.scope AND p.id = w.predecessor
WHERE w.scope = :scope AND w.turn IN (SELECT value FROM json_each(:ids))
  AND t.session = p.session

-- name: speakers
SELECT speaker FROM turns WHERE scope = :scope GROUP BY speaker ORDER BY min(id)

-- name: delete_windows
DELETE FROM windows WHERE scope = :scope AND turn IN (SELECT value FROM json_each(:turns))

-- name: delete_windows_with
-- Windows that hold the words of these turns: their own and those of the turns after them.
DELETE FROM windows
WHERE scope = :scope
  AND (turn IN (SELECT value FROM json_each(:turns))
       OR predecessor IN (SELECT value FROM json_each(:turns)))

-- === full text ==============================================================================

-- name: add_document
INSERT INTO documents (scope, kind, item, length, terms)
VALUES (:scope, :kind, :item, :length, :terms)

-- name: add_posting
INSERT INTO postings (scope, kind, term, item, occurrences, length)
VALUES (:scope, :kind, :term, :item, :occurrences, :length)

-- name: delete_documents
-- Their postings and totals follow by trigger.
DELETE FROM documents
WHERE scope = :scope AND kind = :kind AND item IN (SELECT value FROM json_each(:items))

-- name: text_totals
SELECT documents, words FROM indexes WHERE scope = :scope AND kind = :kind

-- name: term_frequencies
-- In how many documents each term occurs, the rarest first.
SELECT term, count(*) AS documents FROM postings
WHERE scope = :scope AND kind = :kind AND term IN (SELECT value FROM json_each(:terms))
GROUP BY term ORDER BY documents, term

-- name: score_term
-- What BM25 gives a document for one term, before the weight of the term.
SELECT item, occurrences * (:k1 + 1)
             / (occurrences + :k1 * (1 - :b + :b * length / :average)) AS score
FROM postings WHERE scope = :scope AND kind = :kind AND term = :term

-- name: score_term_among
-- The same for some documents only.
SELECT item, occurrences * (:k1 + 1)
             / (occurrences + :k1 * (1 - :b + :b * length / :average)) AS score
FROM postings WHERE scope = :scope AND kind = :kind AND term = :term
                AND item IN (SELECT value FROM json_each(:items))

-- === vectors ================================================================================

-- name: add_vector
INSERT INTO vectors (scope, embedder, kind, item, vector)
VALUES (:scope, :embedder, :kind, :item, :vector)

-- name: delete_vectors
DELETE FROM vectors
WHERE scope = :scope AND kind = :kind AND item IN (SELECT value FROM json_each(:items))

-- name: vector_state
-- What a reader compares with what it has loaded.
SELECT coalesce((SELECT removals FROM indexes WHERE scope = :scope AND kind = :kind), 0) AS removals,
       coalesce((SELECT max(id) FROM vectors
                 WHERE scope = :scope AND embedder = :embedder AND kind = :kind), 0) AS newest

-- name: vector_ids
SELECT id FROM vectors WHERE scope = :scope AND embedder = :embedder AND kind = :kind

-- name: vectors_after
SELECT id, item, vector FROM vectors
WHERE scope = :scope AND embedder = :embedder AND kind = :kind AND id > :newest ORDER BY id

-- === facts ==================================================================================

-- name: find_fact
SELECT id FROM facts WHERE scope = :scope AND identity = :identity

-- name: add_fact
INSERT INTO facts (scope, id, subject, relation, object, text, starts, ends, precision, raw,
                   said_at, instant, speaker, negated, extractor, valid_until, closed_by, identity)
VALUES (:scope, :id, :subject, :relation, :object, :text, :starts, :ends, :precision, :raw,
        :said_at, :instant, :speaker, :negated, :extractor, :valid_until, :closed_by, :identity)

-- name: add_fact_source
INSERT INTO fact_turns (scope, fact, turn) VALUES (:scope, :fact, :turn)
ON CONFLICT (scope, fact, turn) DO NOTHING

-- name: find_entity
SELECT id FROM entities WHERE scope = :scope AND name_key = :name_key

-- name: add_entity
INSERT INTO entities (scope, id, name_key, name) VALUES (:scope, :id, :name_key, :name)

-- name: link_entity
INSERT INTO fact_entities (scope, entity, fact, role) VALUES (:scope, :entity, :fact, :role)

-- name: facts
SELECT * FROM fact_records WHERE scope = :scope ORDER BY instant NULLS LAST, id

-- name: facts_by_id
SELECT * FROM fact_records WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: facts_by_turn
SELECT * FROM fact_records
WHERE scope = :scope
  AND id IN (SELECT s.fact FROM fact_turns s
             WHERE s.scope = :scope AND s.turn IN (SELECT value FROM json_each(:turns)))
ORDER BY instant NULLS LAST, id

-- name: facts_by_entity
SELECT * FROM fact_records
WHERE scope = :scope
  AND id IN (SELECT l.fact FROM entities e
             JOIN fact_entities l ON l.scope = e.scope AND l.entity = e.id
             WHERE e.scope = :scope AND e.name_key = :name_key)
ORDER BY instant NULLS LAST, id

-- name: facts_to_learn
SELECT * FROM fact_records f
WHERE f.scope = :scope
  AND NOT EXISTS (SELECT 1 FROM learned l
                  WHERE l.scope = :scope AND l.fact = f.id AND l.task = :task)
ORDER BY instant NULLS LAST, id

-- name: mark_learned
INSERT INTO learned (scope, fact, task) VALUES (:scope, :fact, :task)
ON CONFLICT (scope, fact, task) DO NOTHING

-- name: existing_facts
SELECT id FROM facts WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: close_fact
UPDATE facts SET valid_until = :valid_until, closed_by = :closed_by
WHERE scope = :scope AND id = :id

-- name: entities
-- The normalised name decides a tie, so that two stores list alike.
SELECT e.name, count(DISTINCT l.fact) AS facts
FROM entities e JOIN fact_entities l ON l.scope = e.scope AND l.entity = e.id
WHERE e.scope = :scope
GROUP BY e.id ORDER BY facts DESC, e.name_key

-- === rules ==================================================================================

-- name: add_rule
INSERT INTO rules (scope, id, body, head, status, inducer, version)
VALUES (:scope, :id, :body, :head, :status, :inducer, :version)

-- name: find_rule
SELECT head FROM rules WHERE scope = :scope AND id = :id

-- name: update_rule
-- A rule that was disabled by hand stays disabled, whatever learning finds.
UPDATE rules
SET body = :body, head = :head, inducer = :inducer, version = :version,
    status = CASE WHEN status = 'disabled' THEN status ELSE :status END
WHERE scope = :scope AND id = :id

-- name: set_rule_status
UPDATE rules SET status = :status WHERE scope = :scope AND id = :id

-- name: rules
SELECT * FROM rules WHERE scope = :scope ORDER BY id

-- name: rules_by_id
SELECT * FROM rules WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids)) ORDER BY id

-- name: rules_in_status
SELECT * FROM rules WHERE scope = :scope AND status = :status ORDER BY id

-- name: rule_ids_in_status
SELECT id FROM rules WHERE scope = :scope AND status = :status

-- name: add_key
INSERT INTO rule_keys (scope, id, rule, text) VALUES (:scope, :id, :rule, :text)

-- name: add_key_fact
INSERT INTO key_facts (scope, key, position, fact) VALUES (:scope, :key, :position, :fact)

-- name: add_key_turn
INSERT INTO key_turns (scope, key, position, turn) VALUES (:scope, :key, :position, :turn)

-- name: keys_by_id
SELECT * FROM key_records WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))

-- name: keys_of_rules
SELECT * FROM key_records
WHERE scope = :scope AND rule IN (SELECT value FROM json_each(:rules)) ORDER BY id

-- name: add_verdict
INSERT INTO verdicts (scope, id, rule, nll_empty, nll_body, nll_evidence, score, alpha, tau, form,
                      admitted, reason, self_supported, model)
VALUES (:scope, :id, :rule, :nll_empty, :nll_body, :nll_evidence, :score, :alpha, :tau, :form,
        :admitted, :reason, :self_supported, :model)

-- name: add_verdict_fact
INSERT INTO verdict_facts (scope, verdict, position, fact)
VALUES (:scope, :verdict, :position, :fact)

-- name: verdicts_of_rules
-- The newest verdict of each rule.
SELECT * FROM verdict_records v
WHERE v.scope = :scope AND v.rule IN (SELECT value FROM json_each(:rules))
  AND v.id = (SELECT max(n.id) FROM verdicts n WHERE n.scope = v.scope AND n.rule = v.rule)

-- === answers, costs, counts =================================================================

-- name: add_answer
INSERT INTO answers (scope, id, body) VALUES (:scope, :id, :body)

-- name: add_answer_turn
INSERT INTO answer_turns (scope, answer, turn) VALUES (:scope, :answer, :turn)

-- name: add_answer_fact
INSERT INTO answer_facts (scope, answer, fact) VALUES (:scope, :answer, :fact)

-- name: find_answer
SELECT body FROM answers WHERE scope = :scope AND id = :id

-- name: add_cost
INSERT INTO costs (scope, stage, calls, prompt_tokens, completion_tokens, seconds)
VALUES (:scope, :stage, :calls, :prompt_tokens, :completion_tokens, :seconds)
ON CONFLICT (scope, stage) DO UPDATE
SET calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens,
    seconds = seconds + excluded.seconds

-- name: costs
SELECT stage, calls, prompt_tokens, completion_tokens, seconds FROM costs
WHERE scope = :scope ORDER BY stage

-- name: counts
SELECT 'turns' AS name, count(*) AS count FROM turns WHERE scope = :scope
UNION ALL SELECT 'turns_' || state, count(*) FROM turns WHERE scope = :scope GROUP BY state
UNION ALL SELECT 'conversations', count(DISTINCT conversation) FROM turns WHERE scope = :scope
UNION ALL SELECT 'facts', count(*) FROM facts WHERE scope = :scope
UNION ALL SELECT 'facts_closed', count(*) FROM facts WHERE scope = :scope AND closed_by IS NOT NULL
UNION ALL SELECT 'entities', count(*) FROM entities WHERE scope = :scope
UNION ALL SELECT 'rules', count(*) FROM rules WHERE scope = :scope
UNION ALL SELECT 'rules_' || status, count(*) FROM rules WHERE scope = :scope GROUP BY status
UNION ALL SELECT 'head_keys', count(*) FROM rule_keys WHERE scope = :scope
UNION ALL SELECT 'answers', count(*) FROM answers WHERE scope = :scope

-- === forget =================================================================================

-- name: count_forgettable
-- Taken before and after: the difference is the receipt.
SELECT (SELECT count(*) FROM turns WHERE scope = :scope) AS turns,
       (SELECT count(*) FROM facts WHERE scope = :scope) AS facts,
       (SELECT count(*) FROM entities WHERE scope = :scope) AS entities,
       (SELECT count(*) FROM rule_keys WHERE scope = :scope) AS head_keys,
       (SELECT count(*) FROM rules WHERE scope = :scope) AS rules,
       (SELECT count(*) FROM answers WHERE scope = :scope) AS answers,
       (SELECT count(*) FROM vectors WHERE scope = :scope) AS vectors

-- name: facts_from
-- Facts that have any of these turns as a source.
SELECT DISTINCT fact FROM fact_turns
WHERE scope = :scope AND turn IN (SELECT value FROM json_each(:turns))

-- name: facts_only_from
-- Facts that have no other source than these turns.
SELECT DISTINCT s.fact FROM fact_turns s
WHERE s.scope = :scope AND s.turn IN (SELECT value FROM json_each(:turns))
  AND NOT EXISTS (SELECT 1 FROM fact_turns o
                  WHERE o.scope = :scope AND o.fact = s.fact
                    AND o.turn NOT IN (SELECT value FROM json_each(:turns)))

-- name: keys_resting_on
-- Keys bound by any of these facts, or left without a turn or fact when these turns go.
SELECT key FROM key_facts
WHERE scope = :scope AND fact IN (SELECT value FROM json_each(:facts))
UNION
SELECT t.key FROM key_turns t
WHERE t.scope = :scope AND t.turn IN (SELECT value FROM json_each(:turns))
  AND NOT EXISTS (SELECT 1 FROM key_turns o
                  WHERE o.scope = :scope AND o.key = t.key
                    AND o.turn NOT IN (SELECT value FROM json_each(:turns)))

-- name: rules_of_keys
SELECT DISTINCT rule FROM rule_keys
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:keys))

-- name: entities_of_facts
SELECT DISTINCT entity FROM fact_entities
WHERE scope = :scope AND fact IN (SELECT value FROM json_each(:facts))

-- name: delete_answers_citing
DELETE FROM answers
WHERE scope = :scope
  AND (id IN (SELECT a.answer FROM answer_turns a
              WHERE a.scope = :scope AND a.turn IN (SELECT value FROM json_each(:turns)))
    OR id IN (SELECT a.answer FROM answer_facts a
              WHERE a.scope = :scope AND a.fact IN (SELECT value FROM json_each(:facts))))

-- name: reopen_facts
-- That a fact ended is derived from the fact that closed it.
UPDATE facts SET valid_until = NULL, closed_by = NULL
WHERE scope = :scope AND closed_by IN (SELECT value FROM json_each(:facts))

-- name: delete_keys
DELETE FROM rule_keys WHERE scope = :scope AND id IN (SELECT value FROM json_each(:keys))

-- name: delete_key_turns
DELETE FROM key_turns WHERE scope = :scope AND turn IN (SELECT value FROM json_each(:turns))

-- name: delete_fact_sources
DELETE FROM fact_turns WHERE scope = :scope AND turn IN (SELECT value FROM json_each(:turns))

-- name: delete_facts
DELETE FROM facts WHERE scope = :scope AND id IN (SELECT value FROM json_each(:facts))

-- name: delete_idle_entities
DELETE FROM entities
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:entities))
  AND NOT EXISTS (SELECT 1 FROM fact_entities l
                  WHERE l.scope = :scope AND l.entity = entities.id)

-- name: attribute_to_remaining_source
-- A fact that lost the turn it was first read from is told as its earliest other source has it.
UPDATE facts
SET (speaker, said_at) = (
        SELECT t.speaker, t.said_at FROM fact_turns s
        JOIN turns t ON t.scope = s.scope AND t.id = s.turn
        WHERE s.scope = :scope AND s.fact = facts.id
        ORDER BY t.instant NULLS LAST, t.id LIMIT 1),
    instant = CASE WHEN starts IS NOT NULL THEN instant ELSE (
        SELECT t.instant FROM fact_turns s
        JOIN turns t ON t.scope = s.scope AND t.id = s.turn
        WHERE s.scope = :scope AND s.fact = facts.id
        ORDER BY t.instant NULLS LAST, t.id LIMIT 1) END
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:facts))
  AND NOT EXISTS (SELECT 1 FROM fact_turns s
                  JOIN turns t ON t.scope = s.scope AND t.id = s.turn
                  WHERE s.scope = :scope AND s.fact = facts.id
                    AND t.speaker = facts.speaker AND t.said_at IS facts.said_at)

-- name: retire_rules
-- Rules that lost their last key. A rule of a pack stands without support; a disabled one stays so.
UPDATE rules SET status = 'retired'
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:rules))
  AND status NOT IN ('retired', 'disabled') AND substr(inducer, 1, 5) <> 'pack:'
  AND NOT EXISTS (SELECT 1 FROM rule_keys k WHERE k.scope = :scope AND k.rule = rules.id)

-- name: delete_turns
DELETE FROM turns WHERE scope = :scope AND id IN (SELECT value FROM json_each(:turns))

-- name: delete_answers
DELETE FROM answers WHERE scope = :scope

-- name: delete_costs
DELETE FROM costs WHERE scope = :scope

-- name: delete_postings
DELETE FROM postings WHERE scope = :scope

-- name: delete_scope
-- Everything in it follows by foreign keys.
DELETE FROM scopes WHERE id = :scope

-- === another embedder =======================================================================
-- Items that have a vector by the current embedder and none yet by :embedder, a batch at a time,
-- each with the id of that vector: it stands for the text that is about to be embedded.

-- name: reembed_turn
SELECT v.id AS source, t.* FROM vectors v JOIN turns t ON t.scope = v.scope AND t.id = v.item
WHERE v.scope = :scope AND v.embedder = :current AND v.kind = 'turn' AND v.id > :after
  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.scope = v.scope AND n.kind = v.kind
                  AND n.item = v.item AND n.embedder = :embedder)
ORDER BY v.id LIMIT :limit

-- name: reembed_window
SELECT v.id AS source, w.text FROM vectors v JOIN windows w ON w.scope = v.scope AND w.turn = v.item
WHERE v.scope = :scope AND v.embedder = :current AND v.kind = 'window' AND v.id > :after
  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.scope = v.scope AND n.kind = v.kind
                  AND n.item = v.item AND n.embedder = :embedder)
ORDER BY v.id LIMIT :limit

-- name: reembed_fact
SELECT v.id AS source, f.text FROM vectors v JOIN facts f ON f.scope = v.scope AND f.id = v.item
WHERE v.scope = :scope AND v.embedder = :current AND v.kind = 'fact' AND v.id > :after
  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.scope = v.scope AND n.kind = v.kind
                  AND n.item = v.item AND n.embedder = :embedder)
ORDER BY v.id LIMIT :limit

-- name: reembed_key
SELECT v.id AS source, k.text FROM vectors v JOIN rule_keys k ON k.scope = v.scope AND k.id = v.item
WHERE v.scope = :scope AND v.embedder = :current AND v.kind = 'key' AND v.id > :after
  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.scope = v.scope AND n.kind = v.kind
                  AND n.item = v.item AND n.embedder = :embedder)
ORDER BY v.id LIMIT :limit

-- name: reembed_head
SELECT v.id AS source, r.head AS text FROM vectors v JOIN rules r ON r.scope = v.scope AND r.id = v.item
WHERE v.scope = :scope AND v.embedder = :current AND v.kind = 'head' AND v.id > :after
  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.scope = v.scope AND n.kind = v.kind
                  AND n.item = v.item AND n.embedder = :embedder)
ORDER BY v.id LIMIT :limit

-- name: add_vector_beside
-- The new vector of an item, unless its text was edited or forgotten while it was embedded.
INSERT INTO vectors (scope, embedder, kind, item, vector)
SELECT scope, :embedder, kind, item, :vector FROM vectors WHERE scope = :scope AND id = :source
ON CONFLICT (scope, kind, item, embedder) DO NOTHING
