"""What agents cost: counted with each attempt, held to budgets, summed for people."""
