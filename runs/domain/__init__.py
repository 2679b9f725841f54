"""The functional core: values and decisions; no Django, no clock, no I/O."""
