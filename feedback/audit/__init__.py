"""Looking back: decisions, whether the record is whole, statistics, costs; it decides nothing."""
