"""The words all else is written in: ids, phases, events, questions, texts; no decisions."""
