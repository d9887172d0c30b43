"""Team memory: the files of `team/` of each project, kept the same through a Postgres server."""
