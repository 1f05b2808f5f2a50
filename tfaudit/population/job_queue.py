"""The jobs of a run that are not done: which can start, which are tried again, which are given up."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tfaudit.population.plan import Event, Job, Order


class JobQueue:
    """A queue of jobs in the order in which they should be done, each after the job that it needs.

    A job that needs one outside of the queue can start at once. Every operation takes O(log n).

    Args:
        jobs: the jobs; no two have the same order.
        retries: number of times that a job is tried again after it failed.

    Example:
        >>> from tfaudit.population.plan import MemberJob
        >>> queue = JobQueue([MemberJob("int8", 0, "dense"), MemberJob("dense", 0)], retries=0)
        >>> dense = queue.take()
        >>> dense.name, queue.take()  # int8 cannot start yet
        ('dense/000', None)
        >>> [event.kind for event in queue.failed(dense, "boom")], len(queue)
        (['failed', 'failed'], 0)
    """

    def __init__(self, jobs: Sequence[Job], retries: int) -> None:
        self._jobs = list(jobs)
        self._places = {job.order: place for place, job in enumerate(self._jobs)}
        self._dependants: dict[Order, list[int]] = defaultdict(list)
        self._ready: list[int] = []
        for place, job in enumerate(self._jobs):
            if job.needs is not None and job.needs in self._places:
                self._dependants[job.needs].append(place)
            else:
                heapq.heappush(self._ready, place)
        self._failures: Counter[Order] = Counter()
        self._retries = retries
        self._unfinished = len(self._jobs)

    def __len__(self) -> int:
        """Return the number of jobs that are neither done nor given up."""
        return self._unfinished

    def take(self) -> Job | None:
        """Return the first job that can start, which then counts as started; None if no job can start now."""
        return self._jobs[heapq.heappop(self._ready)] if self._ready else None

    def is_needed(self, order: Order) -> bool:
        """Return whether a job of the queue needs the one with this order."""
        return order in self._dependants

    def done(self, job: Job) -> None:
        """Finish a started job: those that need it can start."""
        self._unfinished -= 1
        for place in self._dependants.pop(job.order, ()):
            heapq.heappush(self._ready, place)

    def failed(self, job: Job, error: str, *, again: bool = True) -> Iterator[Event]:
        """Try a started job again if it has retries left, otherwise give up the job and all that depend on it.

        Yields the events. Without `again` the job is given up at once.
        """
        self._failures[job.order] += 1
        if again and self._failures[job.order] <= self._retries:
            heapq.heappush(self._ready, self._places[job.order])
            yield Event("retried", job, error)
            return
        given_up = [(job, error)]
        while given_up:
            lost, reason = given_up.pop(0)
            self._unfinished -= 1
            yield Event("failed", lost, reason)
            children = [self._jobs[place] for place in self._dependants.pop(lost.order, ())]
            given_up += [(child, f"its parent, {lost.name}, failed") for child in children]
