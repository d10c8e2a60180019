"""Records a training run in the way the analyses want it.

>>> from rankscope.record import Recorder
>>> with Recorder("run1") as recorder:
...     for batch in recorder.steps(loader):
...         with recorder.range("forward"):
...             loss = model(batch)
...         with recorder.range("backward"):
...             loss.backward()
...         recorder.log(loss=loss)

writes, for each rank R of the job,

* ``run1/torch_profiler/rankR/rankR_cycle000.pt.trace.json.gz``: what ``torch.profiler`` saw of a few steps, with the
  options switched on that the analyses need (``rankscope summary -r run1/torch_profiler``);
* ``run1/execution_trace/rankR.json.gz``: the execution trace that ``rankscope chakra link --host`` reads;
* ``run1/rank_R_metrics.jsonl``: how computation and communication overlapped in each step, measured by CUDA or HIP events
  (``rankscope metrics --log-dir run1``);
* with ``snapshots=100000``, ``run1/memory/out_of_memory/rankR.pickle`` when the GPU's memory runs out
  (``rankscope memory run1/memory/out_of_memory``).

``lightning_callback`` and ``transformers_callback`` put it into loops that a framework runs; ``set_up_flight`` lets a job that
hangs leave what ``rankscope flight`` reads, ``dump_flight`` writes that at any time.

torch is imported when a recorder is entered, not before. What this torch cannot do is left out, and said: in
`Recorder.notes` and as a `RecorderWarning`.
"""

from .callbacks import lightning_callback, transformers_callback
from .files import RecorderError, RecorderWarning
from .flight import dump_flight, set_up_flight
from .recorder import Recorder

__all__ = ["Recorder", "RecorderError", "RecorderWarning", "dump_flight", "lightning_callback", "set_up_flight",
           "transformers_callback"]
