"""Looking back: decisions, whether the record is whole, statistics; nothing is decided here."""
