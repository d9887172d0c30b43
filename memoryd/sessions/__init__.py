"""What a session is given: context, instructions, notes, checkpoints."""
