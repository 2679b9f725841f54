"""What happens to a broker between the site and its workers."""

from tests.brokers import BrokerServer
from tests.chaos.storm.faults import Fault, Kill, Weather
from tests.chaos.storm.hosts import Host, wait


class BrokerKilled(Fault):
    """Every job that it held is gone."""

    name = "kill -9 of the broker, which comes back empty"

    def __init__(self, server: BrokerServer) -> None:
        self._server = server

    def strike(self, weather: Weather) -> str:
        self._server.kill()
        seconds = weather.rng.uniform(0, 2) * weather.lease
        wait(seconds)
        self._server.start()
        return f"gone for {seconds:.1f} s"


class BrokerFrozen(Fault):
    """It takes connections and answers nobody."""

    name = "broker frozen"

    def __init__(self, server: BrokerServer) -> None:
        self._server = server

    def strike(self, weather: Weather) -> str:
        self._server.freeze()
        seconds = weather.rng.uniform(0.5, 2) * weather.lease
        wait(seconds)
        self._server.thaw()
        return f"for {seconds:.1f} s"


def faults_on(server: BrokerServer) -> list[Fault]:
    """What a site on Celery has to survive besides."""
    return [Kill("a lane of Celery", Host.lanes), BrokerKilled(server), BrokerFrozen(server)]
