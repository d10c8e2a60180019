"""rankscope.sample: jobs to try things on."""
import pytest

import rankscope as rs


def test_sample_is_a_job_with_that_fault(tmp_path):
    folder = rs.sample("straggler", str(tmp_path / "job"))
    assert folder == str(tmp_path / "job")
    said = rs.open(folder).diagnose().verdict
    assert str(said).startswith("Rank 5 computes 1.50")


def test_sample_makes_a_folder():
    assert len(rs.memory(rs.sample("memory"), table="spread")) > 0


def test_unknown_sample(tmp_path):
    with pytest.raises(rs.InputError, match="there is no demo \"fire\""):
        rs.sample("fire", str(tmp_path / "job"))
