"""How many files and connections a process may have open."""

import resource


def descriptor_limit() -> int:
    """Number of files and connections that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else soft


def raise_descriptor_limit(wanted: int) -> None:
    """Let this process open so many files and connections, or as many as the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
