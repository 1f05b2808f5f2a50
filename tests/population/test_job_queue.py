"""The queue of jobs against a plain simulation of the rules: order, parents, retries."""

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
    links = [None if p is None or p >= place else KEYS[p] for place, p in enumerate(parents)]
    jobs = [Job(key, 0, parent) for key, parent in zip(KEYS, links, strict=True)]
    queue, running, ended, failures = JobQueue(jobs, retries), [], {}, {}
    while queue:
        open_jobs = [job for job in jobs if job.variant not in ended and job not in running]
        possible = [
            job for job in open_jobs if job.parent is None or ended.get(job.parent) == "done"
        ]
        while job := queue.take():
            assert job == possible.pop(0), "not the first that can start"
            running.append(job)
        assert not possible
        job = running.pop(data.draw(st.integers(0, len(running) - 1)))
        if data.draw(st.booleans()):
            queue.done(job)
            ended[job.variant] = "done"
            continue
        failures[job.variant] = failures.get(job.variant, 0) + 1
        again = data.draw(st.booleans())
        events = list(queue.failed(job, "boom", again=again))
        if again and failures[job.variant] <= retries:
            assert [event.kind for event in events] == ["retried"]
            continue
        lost = {job.variant}
        for other in jobs:
            if other.parent in lost:
                lost.add(other.variant)
        assert {event.job.variant for event in events} == lost
        assert {event.kind for event in events} == {"failed"}
        ended |= dict.fromkeys(lost, "failed")
    assert set(ended) == set(KEYS)
    assert queue.take() is None
