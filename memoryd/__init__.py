"""The daemon: follows transcripts, keeps memories, answers recall."""
