"""What every test may ask for."""

from hypothesis import settings

pytest_plugins = ["tests.fake_agents.programs", "tests.fake_github"]

# A busy machine is slow at any moment: how long an example takes says nothing about the code.
settings.register_profile("faber", deadline=None)
settings.load_profile("faber")
