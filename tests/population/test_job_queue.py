"""The queue of jobs against a plain simulation of the rules: order, parents, retries."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tfaudit.population.job_queue import JobQueue
from tfaudit.population.plan import MemberJob as Job

KEYS = "abcdef"


@settings(max_examples=100)
@given(
    st.lists(st.none() | st.integers(0, 4), min_size=6, max_size=6), st.data(), st.integers(0, 2)
)
def test_every_job_is_done_or_given_up_exactly_once(parents, data, retries):
    """Each variant's parent is one before it, or none; failures and the order of answers are drawn."""
    jobs = jobs_of(parents)
    queue, running, ended, failures = JobQueue(jobs, retries), [], {}, Counter()
    while queue:
        possible = [job for job in startable(jobs, ended) if job not in running]
        assert list(iter(queue.take, None)) == possible, "not those that can start, in order"
        running += possible
        job = running.pop(data.draw(st.integers(0, len(running) - 1)))
        outcome = data.draw(st.sampled_from(["done", "failed", "failed for good"]))
        if outcome == "done":
            queue.done(job)
            ended[job.variant] = "done"
            continue
        failures[job.variant] += 1
        again = outcome == "failed"
        told = [(event.kind, event.job.variant) for event in queue.failed(job, "boom", again=again)]
        is_tried_again = again and failures[job.variant] <= retries
        lost = set() if is_tried_again else with_descendants(jobs, job.variant)
        expected = [("failed", variant) for variant in sorted(lost)]
        assert sorted(told) == (expected or [("retried", job.variant)])
        ended |= dict.fromkeys(lost, "failed")
    assert set(ended) == set(KEYS)
    assert queue.take() is None


def jobs_of(parents):
    """A job of each variant, made from the one at the drawn position if that is before it."""
    links = [None if p is None or p >= place else KEYS[p] for place, p in enumerate(parents)]
    return [Job(key, 0, parent) for key, parent in zip(KEYS, links, strict=True)]


def startable(jobs, ended):
    """The jobs that have not ended and whose parent is made, or that have none."""
    made = [None, *(variant for variant, end in ended.items() if end == "done")]
    return [job for job in jobs if job.variant not in ended and job.parent in made]


def with_descendants(jobs, variant):
    """A variant and all that are made from it."""
    lost = {variant}
    for job in jobs:
        if job.parent in lost:
            lost.add(job.variant)
    return lost
