"""One outside thing each: folder, database, watcher, subprocess, Landlock."""
