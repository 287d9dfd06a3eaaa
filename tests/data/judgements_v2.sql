-- A judgement file of schema version 2, frozen: later versions must read it.
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE claims (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            queue_id TEXT NOT NULL,
            place INTEGER NOT NULL,
            annotator TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('claim', 'skip', 'release')),
            at TEXT NOT NULL,
            FOREIGN KEY (queue_id, place) REFERENCES queue_items (queue_id, place)
        );
INSERT INTO "claims" VALUES(1,'0123456789abcdef',1,'Ann','claim','2026-11-30T00:00:03.000+00:00');
INSERT INTO "claims" VALUES(2,'0123456789abcdef',2,'Ann','claim','2026-11-30T00:00:03.000+00:00');
INSERT INTO "claims" VALUES(3,'0123456789abcdef',1,'Ann','claim','2026-11-30T00:00:03.000+00:00');
INSERT INTO "claims" VALUES(4,'0123456789abcdef',2,'Ann','skip','2026-11-30T00:00:05.000+00:00');
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
INSERT INTO "events" VALUES(1,'judge','2026-11-30T00:00:04.000+00:00','248922aafab64b27','Ann',NULL,'t1','1995','1995','listed','','1995','',1,1,NULL,0.5,NULL);
INSERT INTO "events" VALUES(2,'judge','2026-11-30T00:00:06.000+00:00','248922aafab64b27','Ann',NULL,'t2','2012','2012','unsure','','','',1,1,NULL,0.5,NULL);
INSERT INTO "events" VALUES(3,'undo','2026-11-30T00:00:07.000+00:00','248922aafab64b27','Ann',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(4,'judge','2026-11-30T00:00:08.000+00:00','248922aafab64b27','Ann',NULL,'t3','20 2001 june','June 20, 2001','unlisted','supports','','seen
supported by passage p1, characters 20 to 33: "June 20, 2001"',0,1,NULL,0.5,NULL);
CREATE TABLE queue_items (
            queue_id TEXT NOT NULL REFERENCES queues (id),
            place INTEGER NOT NULL,
            position INTEGER NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('prediction', 'gold', 'candidate')),
            answer TEXT NOT NULL,
            answer_key TEXT NOT NULL,
            inclusion REAL NOT NULL CHECK (inclusion > 0 AND inclusion <= 1),
            stratum TEXT NOT NULL,
            PRIMARY KEY (queue_id, place),
            UNIQUE (queue_id, position, answer_key)
        );
INSERT INTO "queue_items" VALUES('0123456789abcdef',1,0,'prediction','1995','1995',1.0,'right prediction');
INSERT INTO "queue_items" VALUES('0123456789abcdef',2,0,'prediction','2012','2012',1.0,'wrong prediction');
CREATE TABLE queues (
            id TEXT PRIMARY KEY,
            run_id TEXT NOT NULL REFERENCES runs (id),
            name TEXT NOT NULL,
            strategy TEXT NOT NULL,
            seed INTEGER NOT NULL,
            overlap INTEGER NOT NULL CHECK (overlap >= 1),
            blind INTEGER NOT NULL,
            settings TEXT NOT NULL,
            created_at TEXT NOT NULL,
            UNIQUE (run_id, name)
        );
INSERT INTO "queues" VALUES('0123456789abcdef','4fe6bf1a9c1f0d21','mine','uniform',1,1,1,'{"count": 2, "population": "all", "uniform_share": 0.2, "unit": "candidate"}','2026-11-30T00:00:02.000+00:00');
CREATE TABLE run_answers (
            run_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            number INTEGER NOT NULL,
            answer TEXT NOT NULL,
            answer_key TEXT NOT NULL,
            spellings_json TEXT NOT NULL,
            p_right REAL,
            predicted INTEGER NOT NULL,
            gold TEXT NOT NULL,
            repeats INTEGER NOT NULL,
            PRIMARY KEY (run_id, position, number),
            FOREIGN KEY (run_id, position) REFERENCES run_questions (run_id, position)
        ) WITHOUT ROWID
        ;
INSERT INTO "run_answers" VALUES('4fe6bf1a9c1f0d21',0,0,'1995','1995','["1995"]',0.93,1,'1995',0);
INSERT INTO "run_answers" VALUES('4fe6bf1a9c1f0d21',0,1,'2012','2012','["2012"]',0.6,1,'',0);
CREATE TABLE run_gold (
            run_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            number INTEGER NOT NULL,
            answer TEXT NOT NULL,
            spellings_json TEXT NOT NULL,
            lost TEXT NOT NULL,
            PRIMARY KEY (run_id, position, number),
            FOREIGN KEY (run_id, position) REFERENCES run_questions (run_id, position)
        ) WITHOUT ROWID
        ;
INSERT INTO "run_gold" VALUES('4fe6bf1a9c1f0d21',0,0,'1995','["1995"]','predicted');
CREATE TABLE run_questions (
            run_id TEXT NOT NULL REFERENCES runs (id),
            position INTEGER NOT NULL,
            question_id TEXT NOT NULL,
            question TEXT NOT NULL,
            question_key TEXT NOT NULL,
            gold_json TEXT NOT NULL,
            trace_id TEXT NOT NULL REFERENCES traces (id),
            seconds REAL,
            PRIMARY KEY (run_id, position),
            UNIQUE (run_id, question_id)
        );
INSERT INTO "run_questions" VALUES('4fe6bf1a9c1f0d21',0,'q1','When did You Don''t Know Jack come out?','when did you don''t know jack come out?','[[["1995"]]]','248922aafab64b27',0.5);
CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            system TEXT NOT NULL,
            at TEXT NOT NULL,
            scored INTEGER NOT NULL,
            tau REAL,
            k INTEGER NOT NULL,
            provenance TEXT NOT NULL,
            complete INTEGER NOT NULL DEFAULT 0
        );
INSERT INTO "runs" VALUES('4fe6bf1a9c1f0d21','first','ours','2026-11-30T00:00:01.000+00:00',1,0.5,10,'{"model": "one"}',1);
CREATE TABLE traces (
            id TEXT PRIMARY KEY,
            question TEXT NOT NULL,
            question_key TEXT NOT NULL,
            provenance TEXT NOT NULL,
            body BLOB NOT NULL,
            created_at TEXT NOT NULL
        );
INSERT INTO "traces" VALUES('248922aafab64b27','When did You Don''t Know Jack come out?','when did you don''t know jack come out?','{"model": "one"}',X'789C8552B16AC33010FD95434B17636C87D2BA4B974EE9D0B194608290AE8E8872722C390998FC7B75524D1B3A74B0D0BB7B7A7AF7AC592849DA6819D08B27D8CC42923FE318F7A26EDB7B5180F0CA8D180B55D93272D3A832B96338A0B586FA54C847BA6B01BF759AAA6E6E7556FFE9A423DD951B78321A49E142DC99F0ED34967DD67BA86323C1ED28691F6B5CB078314ADA885665F383170A4DD6C6EA20BD973DEBCCC268F63BD4EC36E025307A9B0218029EAC8098153882F544084D55C4AFAA41F6D25099CE98605949ACA5DA8B188358ECA45186D19D90641E661607A791DD094798C8C7097D308E5237E79746DD2CC176AC924D1E6F4CBEEF9020FE46F87013BC38BA0BF04AEE0CEC03943B20B8293C674728F592730A1E9523CD70E6B60F390C71C2D17C1AD47C4DDC6BA396DC87ED68FA1DDFBB494FA22A1F7969572C7746EE65F5F40E6ED83513D3D2FC2177D72FEDF9C071','2026-11-30T00:00:00.000+00:00');
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
CREATE INDEX run_questions_trace ON run_questions (trace_id);
CREATE INDEX run_answers_predicted ON run_answers (run_id, predicted, position, answer_key);
CREATE INDEX run_gold_lost ON run_gold (run_id, lost, position);
CREATE INDEX claims_item ON claims (queue_id, place, annotator);
CREATE INDEX claims_annotator ON claims (queue_id, annotator);
CREATE TRIGGER claims_no_update BEFORE UPDATE ON claims
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END;
CREATE TRIGGER claims_no_delete BEFORE DELETE ON claims
            BEGIN SELECT RAISE(ABORT, 'history is never rewritten'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('claims',4);
INSERT INTO "sqlite_sequence" VALUES('events',4);
COMMIT;
