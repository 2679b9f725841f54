"""Questions to the agent before a decision: asked, answered in its session, replied by programs."""
