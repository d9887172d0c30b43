"""The tables of state.db: a base, and the migrations that follow it.

A released migration is never changed, only followed by another.
"""

from typing import Final

# The schema of version 10, the first one that is supported. Never changed: append to MIGRATIONS.
BASE_VERSION: Final = 10
BASE_SCHEMA: Final = """
    create table blobs (sha256 text primary key, packed blob not null) without rowid;
    create table versions (
        id integer primary key,
        folder text not null, file text not null,
        sha256 text,            -- null: the file was removed
        bytes integer not null, at real not null,
        cause text not null, session_id text not null
    );
    create index versions_by_file on versions (folder, file, id);

    create table switched_off (project text primary key) without rowid;  -- '' is every project

    create table spending (
        id integer primary key,
        day text not null, job text not null, project text not null, model text not null,
        usd real not null,
        is_open integer not null default 1,     -- a reservation; the real cost is not known yet
        input_tokens integer not null default 0, output_tokens integer not null default 0,
        cache_read_tokens integer not null default 0, cache_write_tokens integer not null default 0
    );
    create index spending_by_day on spending (day);
    create table breaker (
        one integer primary key check (one = 1),
        failures_in_a_row integer not null, opened_at real not null, open_seconds real not null
    );

    create table tries (        -- of turns that are not extracted yet
        turn_id text primary key,
        failures integer not null default 0,
        deaths integer not null default 0,      -- daemon crashes while it was worked on
        first_began real not null
    ) without rowid;
    create table last_words (   -- the assistant's, from the last turn that was extracted
        session_id text primary key, text text not null, at real not null
    ) without rowid;

    create table session_notes (
        session_id text primary key,
        tool_calls integer not null default 0,
        noted_tokens integer,                   -- null: no notes yet
        noted_tool_calls integer not null default 0,
        covered text not null default ''        -- end of the last turn that the notes cover
    ) without rowid;

    create table first_start (at real not null);    -- transcripts from before count as read
    create table transcripts (
        number integer primary key,
        path text not null,                         -- folder/session.jsonl
        device integer not null, inode integer not null,
        size integer not null, mtime_ns integer not null, ctime_ns integer not null,
        head_bytes integer not null, head blob not null, tail blob not null,
        offset integer not null,
        old_until integer not null,                 -- bytes before this are from before first_start
        is_learned integer not null default 0,      -- the turns before old_until are in turns
        is_settled integer not null,
        lost_at real,                               -- null: the file is in its place
        snapshot blob not null                      -- the parser's state at this offset
    );
    create table turns (
        number integer primary key,                 -- the order in which they were seen
        id text not null unique,
        project text not null default '', session_id text not null, path text not null,
        started text not null, ended text not null, ending text not null,
        state text not null, reason text not null default '',
        imported integer not null default 0,
        at real not null,
        packed blob                                 -- the turn, while it is pending
    );
    create index turns_pending on turns (project, imported, number) where state = 'pending';
    create table imports (                          -- progress of the unfinished ones
        project text not null, since text not null, -- as they were requested
        since_at real not null,
        done_mtime real not null, done_path text not null,
        turns integer not null,
        primary key (project, since)
    ) without rowid;

    create table surfaced (
        session_id text not null, path text not null, bytes integer not null, at real not null,
        primary key (session_id, path)
    ) without rowid;

    create table dreams (
        id integer primary key,
        directory text not null, project text not null,
        cause text not null, state text not null, reason text not null default '',
        started real not null, finished real,
        pid integer not null,
        lock blob not null,     -- the lock file before the dream
        summary blob,
        scope text not null default 'project'
    );
    create index dreams_by_directory on dreams (directory, id);
    create table dream_files (  -- what undoes a dream
        dream integer not null, file text not null,
        before blob,            -- null: there was no such file
        modified real not null,
        after text,             -- its hash after the dream; null: the dream removed it
        primary key (dream, file)
    ) without rowid;
    create table dreamt_at (    -- the last dream on the monotonic clock, valid until a reboot
        directory text primary key,
        boot text not null,
        real_seconds real not null
    ) without rowid;

    create table approved_imports (
        project text not null, path text not null, primary key (project, path)
    ) without rowid;
"""

# Each brings a database from the version before it to the next one.
MIGRATIONS: Final[tuple[str, ...]] = (
    # 11: versions are numbered per memory.
    """
    alter table versions add column number integer not null default 0;
    update versions set number = counted.number from (
        select id, row_number() over (partition by folder, file order by id) as number
        from versions
    ) as counted where counted.id = versions.id;
    drop index versions_by_file;
    create unique index versions_by_number on versions (folder, file, number);
    """,
    # 12: the inbox.
    """
    create table candidates (
        id integer primary key,
        folder text not null, key text not null,
        state text not null, at real not null,
        handed integer not null default 0,      -- how often an agent was asked about it
        packed blob,                            -- the candidate, while it waits
        unique (folder, key)
    );
    """,
    # 13: rules given at a tool call, and what became of injected memories
    """
    create table outcomes (
        path text primary key,
        used integer not null default 0, contradicted integer not null default 0,
        silent integer not null default 0, last_at real not null
    ) without rowid;
    create table tool_rules (
        path text primary key,
        given integer not null default 0, last_given real not null,
        followed integer not null default 0, broken integer not null default 0
    ) without rowid;
    """,
    # open turns of files at rest. The default makes every file be looked at once.
    """
    alter table transcripts add column rest_seconds real not null default 1;
    """,
    # how often a memory was recalled.
    """
    create table recalls (
        path text primary key,
        times integer not null, last_at real not null,
        session_id text not null                -- the one that was given it last
    ) without rowid;
    insert into recalls (path, times, last_at, session_id)
        select path, count(*), max(at), session_id from surfaced group by path;
    """,
    # what the person said last, runs that ended at a limit, candidates that a model has judged.
    """
    alter table last_words add column person text not null default '';
    alter table tries add column unfinished integer not null default 0;
    alter table candidates add column is_judged integer not null default 0;
    """,
    # when a model behind a command was last asked, and until when the person's plan rests.
    """
    create table plan_runs (job text primary key, began real not null) without rowid;
    create table plan_pause (
        one integer primary key check (one = 1),
        words text not null, since real not null, until real not null
    );
    """,
    # sessions whose own environment switched memory off.
    """
    create table sessions_off (
        session_id text primary key, reason text not null, at real not null
    ) without rowid;
    """,
    # who wrote which bytes. What we wrote before has a header that we stamped.
    """
    create table origins (sha256 text primary key, origin text not null) without rowid;
    create table own_indexes (folder text primary key, sha256 text not null) without rowid;
    insert or ignore into origins select sha256, 'agent-concluded' from versions
        where sha256 is not null and cause = 'agent';
    insert or ignore into origins select sha256, 'confirmed' from versions
        where sha256 is not null and cause in ('extraction', 'dream', 'user');
    """,
    # memories on their way from one scope to another, and snapshots of agents' memories.
    """
    create table moves (id integer primary key, move blob not null);
    create table agent_snapshots (
        directory text primary key, taken real, told real
    ) without rowid;
    """,
    # memory that is off for a time only.
    """
    alter table switched_off add column until real;    -- null: until somebody turns it on
    create table joinings (     -- adoptions and imports that can be undone
        id integer primary key,
        kind text not null, target text not null, at real not null,
        packed blob not null
    );
    """,
    # team memory: which projects are shared, what was agreed with the server last, what waits.
    """
    alter table origins add column author text not null default '';
    create table team_projects (
        folder text primary key,                -- the memory directory of the team
        root text not null, project text not null, joined real not null
    ) without rowid;
    create table team_known (
        folder text not null, entry text not null,
        stamp integer not null, tie integer not null,   -- the server's version
        sha256 text not null,                           -- there; '' is a tombstone
        kept text not null,                             -- here, when both agreed
        primary key (folder, entry)
    ) without rowid;
    create table team_removals (                -- asked for, and not on the server yet
        folder text not null, entry text not null, primary key (folder, entry)
    ) without rowid;
    create table team_authors (                 -- whose memories are taken over here
        server text not null, author text not null, since real not null,
        primary key (server, author)
    ) without rowid;
    create table team_conflicts (               -- changes here that lost against the server
        id integer primary key,
        folder text not null, entry text not null, at real not null,
        author text not null, version integer not null
    );
    """,
    # a person's other machines: what was last seen of each sealed row, and which project is which.
    """
    create table private_rows (
        name text primary key,                  -- on the server: a keyed hash
        stamp integer not null, tie integer not null, epoch integer not null,
        counter integer not null,               -- how far the row had come
        sha256 text not null,                   -- of its text; '' is a removal
        device text not null,
        kind text not null, scope text not null, project text not null, path text not null,
        commit_id text not null
    ) without rowid;
    create table private_projects (
        root text primary key,
        project text not null,                  -- what all machines call it
        given text not null                     -- the name that the person gave, or ''
    ) without rowid;
    """,
)
LATEST_VERSION: Final = BASE_VERSION + len(MIGRATIONS)
