"""Reviews that run themselves, and decisions that are opened again when what they rested on has changed."""
