"""What every test may ask for."""

pytest_plugins = ["tests.fake_agents.programs", "tests.fake_github"]
