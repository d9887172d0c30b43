"""From finished turns to saved memories, with a model and without."""
