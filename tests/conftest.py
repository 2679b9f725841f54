"""What every test may ask for."""

pytest_plugins = ["tests.fake_github"]
