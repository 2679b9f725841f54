"""The folder a run works in: git, and a worktree of its own; what steps do there is `worker`'s."""
