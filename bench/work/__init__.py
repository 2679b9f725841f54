"""What runs cost: steps, answers, context, size."""
