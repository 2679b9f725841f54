"""When people must have decided: durations, business hours, what time asks for next."""
