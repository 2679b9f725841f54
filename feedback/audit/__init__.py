"""Looking back: decisions on record, whether the record is whole, and statistics."""
