"""A real worker process, `tfaudit.population.worker`, whose members are replayed: `python -m ... DIR`."""

import sys
import time
from functools import cached_property

from tests.builders.replayed_studies import replay
from tfaudit.population import worker
from tfaudit.population.plan import ConditionJob, MemberJob
from tfaudit.store.store import open_store

SECONDS = 0.05
"""That a member takes."""


class Replayed(worker._JobRunner):
    """Stands in for the tools of both kinds of jobs."""

    def prepare(self, _):
        time.sleep(SECONDS)

    def make(self, variant, member, report):
        replay(self._store, MemberJob(variant, member))

    def evaluate(self, condition, report):
        replay(self._store, ConditionJob(condition, 0))
        report(0)

    @cached_property
    def _store(self):
        return open_store(self._directory)

    _machine = property(lambda self: {})
    _members = _conditions = property(lambda self: self)


if __name__ == "__main__":
    worker._JobRunner = Replayed
    worker.main(sys.argv[1])
