"""Replaces HTA's `hta.utils.checker`."""
import os
from dataclasses import dataclass


@dataclass
class OperationOutcome:
    """Whether something went well, and why not."""

    success: bool
    reason: str


def is_valid_directory(path_to_directory: str, must_be_writable: bool = False) -> OperationOutcome:
    """Whether a path is a directory that can be read, and written where that is asked."""
    reason = ""
    if not path_to_directory:
        reason = "`path_to_directory` must be a non-empty string"
    elif not os.path.exists(path_to_directory):
        reason = "%s does not exist" % path_to_directory
    elif not os.path.isdir(path_to_directory):
        reason = "%s is not a directory" % path_to_directory
    elif not os.access(path_to_directory, os.R_OK):
        reason = "%s is not readable" % path_to_directory
    elif must_be_writable and not os.access(path_to_directory, os.W_OK):
        reason = "%s is not writable" % path_to_directory
    return OperationOutcome(not reason, reason)
