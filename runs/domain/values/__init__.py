"""The words all else is written in: ids, phases, statuses, events, questions, actors, texts."""
