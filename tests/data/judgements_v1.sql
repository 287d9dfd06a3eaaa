-- A judgement file of schema version 1, frozen: later versions must read it.
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL CHECK (kind IN ('judge', 'undo', 'redo')),
            at TEXT NOT NULL,
            trace_id TEXT NOT NULL REFERENCES traces (id),
            annotator TEXT NOT NULL,
            target INTEGER REFERENCES events (id),
            token TEXT,
            answer_key TEXT,
            answer TEXT,
            label TEXT,
            evidence TEXT,
            gold TEXT,
            note TEXT,
            recalled INTEGER,
            blind INTEGER,
            p_right REAL,
            tau REAL,
            k INTEGER,
            UNIQUE (annotator, token),
            CHECK ((kind = 'judge') = (target IS NULL)),
            CHECK ((kind = 'judge') = (token IS NOT NULL AND answer_key IS NOT NULL AND label IS NOT NULL))
        );
INSERT INTO "events" VALUES(1,'judge','2026-11-29T22:07:35.504+00:00','504f6b9bb8f20b19','Ann',NULL,'t1','1995','1995','listed','','','',1,0,NULL,NULL,NULL);
INSERT INTO "events" VALUES(2,'judge','2026-11-29T22:07:35.528+00:00','504f6b9bb8f20b19','Ann',NULL,'t2','1995','1995','invalid','','','',1,0,NULL,NULL,NULL);
INSERT INTO "events" VALUES(3,'undo','2026-11-29T22:07:35.552+00:00','504f6b9bb8f20b19','Ann',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE traces (
            id TEXT PRIMARY KEY,
            question TEXT NOT NULL,
            question_key TEXT NOT NULL,
            provenance TEXT NOT NULL,
            body BLOB NOT NULL,
            created_at TEXT NOT NULL
        );
INSERT INTO "traces" VALUES('504f6b9bb8f20b19','When did You Don''t Know Jack come out?','when did you don''t know jack come out?','{"model": "one"}',X'789C8552C16AC3300CFD15E3CB2E2524694BDB5DC660A7EDB0E3182514636BADA96B678E931642FE7D96DCB0743DEC26C9EF49CF4FEAB9145669250234FC916D7B2E6C73061F635E6C364B3E63BC91CE432CE4D90633D77A39826BD134620F3BAD90501708F7C21E63566008063A616562AF915D0B1B939E83454A51DCF70FC28798AD86A1220218A3ED9E062649D53063539DCFB5D786958B192BF322BF55BCBE557CDFF19E5C2ED8B58885BFC362B1BC1D31FF6F04512AFA0D745A41F28380071DAE4EC67293FAADD0134A77132B0D5CB4142666F3ACFCCD47886D8D89D5EB3EC8E1E94E025CD053FEDE06A62D431B33AAEB6010CD5F853CF261B23D925B7BD781BD2EB0E727A70015706781C0DF2D3441BBB4D1E4117D673B6EAAC22E49C854C6C7012C8B57C73E5DCB5E9C7D08ECCDBA3343154CBA1330D786A7A407841A9D246B413AAB1A9AE8213A60C8B4E5904E87FECE3BF0FA4B83C29931565A8E36D73BAFF70714B1A573A30B89D11C7B9F01DF08596479DCD8F003E2FAE8B1','2026-11-29T22:07:35.480+00:00');
CREATE INDEX traces_question ON traces (question_key);
CREATE INDEX events_verdict ON events (trace_id, annotator, answer_key);
CREATE INDEX events_target ON events (target);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END;
CREATE VIEW live_judgements AS
        SELECT events.*, traces.question, traces.question_key
        FROM events JOIN traces ON traces.id = events.trace_id
        WHERE events.kind = 'judge' AND coalesce(
            (
                SELECT step.kind FROM events AS step WHERE step.target = events.id
                ORDER BY step.id DESC LIMIT 1
            ),
            'redo'
        ) = 'redo';
CREATE VIEW current_judgements AS
        SELECT * FROM live_judgements AS it
        WHERE it.id = (
            SELECT max(live.id) FROM live_judgements AS live
            WHERE live.trace_id = it.trace_id AND live.annotator = it.annotator
                AND live.answer_key = it.answer_key
        );
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',3);
COMMIT;
