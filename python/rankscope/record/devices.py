"""What the device says of itself while a job runs: power, clocks, use, memory, temperature, by NVML or AMD SMI."""

from __future__ import annotations

import importlib
import json
import threading
import time
from typing import Any, Callable

from .features import Note
from .files import Layout

# More than this is not held: the oldest go. A step that is written late, by an hour at ten samples a second, finds its own.
MAX_HELD = 36000

Reader = Callable[[], "dict[str, float]"]


def _each(ways: dict[str, Callable[[], float]]) -> Reader:
    """A reader of what this device can report; what it cannot report once is not asked again."""
    def read() -> dict[str, float]:
        found = {}
        for name, way in list(ways.items()):
            try:
                found[name] = float(way())
            except Exception:  # the libraries have error classes of their own; a board without a sensor is no fault
                del ways[name]
        return found
    return read


def _nvml(torch: Any) -> Reader:
    nvml = importlib.import_module("pynvml")
    nvml.nvmlInit()
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    uuid = str(getattr(properties, "uuid", ""))
    if uuid:  # visible devices may be renumbered
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
    else:
        handle = nvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
    return _each({
        "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        "clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "use_pct": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        "memory_used_mb": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used / 1e6,
        "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "throttle_reasons": lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
    })


def _amd(torch: Any) -> Reader:
    smi = importlib.import_module("amdsmi")
    smi.amdsmi_init()
    handle = smi.amdsmi_get_processor_handles()[torch.cuda.current_device()]
    return _each({
        "power_w": lambda: smi.amdsmi_get_power_info(handle)["average_socket_power"],
        "clock_mhz": lambda: smi.amdsmi_get_clock_info(handle, smi.AmdSmiClkType.GFX)["clk"],
        "memory_clock_mhz": lambda: smi.amdsmi_get_clock_info(handle, smi.AmdSmiClkType.MEM)["clk"],
        "use_pct": lambda: smi.amdsmi_get_gpu_activity(handle)["gfx_activity"],
        "memory_used_mb": lambda: smi.amdsmi_get_gpu_memory_usage(handle, smi.AmdSmiMemoryType.VRAM) / 1e6,
        "temperature_c": lambda: smi.amdsmi_get_temp_metric(handle, smi.AmdSmiTemperatureType.HOTSPOT, smi.AmdSmiTemperatureMetric.CURRENT),
    })


def find_reader(torch: Any, note: Note) -> Reader | None:
    """By the library of the device's maker; None, and a note, where it is not there or reports nothing."""
    if not (hasattr(torch, "cuda") and torch.cuda.is_available()):
        note("no CUDA or HIP device: no samples of it are taken")
        return None
    hip = getattr(getattr(torch, "version", None), "hip", None)
    make, module, package = (_amd, "amdsmi", "amdsmi, of ROCm") if hip else (_nvml, "pynvml", "nvidia-ml-py")
    try:
        reader = make(torch)
        if reader():
            return reader
        note(f"{module} reports nothing of this device: no samples of it are taken")
    except ImportError:
        note(f"{module} cannot be imported: no samples of the device are taken; install {package}")
    except Exception as error:  # of the library, whose classes are its own
        note(f"{module} cannot read this device ({error}): no samples of it are taken")
    return None


class Devices:
    """Samples by a thread of its own, a line of JSON each, in ``rank_R_device.jsonl``."""

    def __init__(self, reader: Reader, layout: Layout, period: float, note: Note) -> None:
        self.reader, self.period, self.note = reader, period, note
        self.path = layout.devices
        self.file = open(self.path, "w", encoding="ascii")
        self.held: list[tuple[int, dict[str, float]]] = []
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.written = 0
        self.thread = threading.Thread(target=self._run, name="rankscope-devices", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def _run(self) -> None:
        while True:
            try:
                self.take()
            except OSError as error:
                self.note(f"{self.path}: could not be written ({error})")
                return
            if self.done.wait(self.period):
                return

    def take(self) -> None:
        """One sample, now."""
        before = time.time_ns()
        values = self.reader()
        at = (before + time.time_ns()) // 2
        with self.lock:
            self.held.append((at, values))
            del self.held[:-MAX_HELD]
        self.file.write(json.dumps({"time_ns": at, **values}) + "\n")
        self.written += 1

    def within(self, start: int, end: int) -> dict[str, Any] | None:
        """Means of the samples from start to end, ns since 1970, with their number; None: there are none."""
        with self.lock:
            found = [values for at, values in self.held if start <= at < end]
        if not found:
            return None
        means: dict[str, Any] = {"samples": len(found)}
        for name in {name: None for values in found for name in values}:
            numbers = [values[name] for values in found if name in values]
            if name == "throttle_reasons":  # bits: whatever held at any time
                bits = 0
                for number in numbers:
                    bits |= int(number)
                means[name] = bits
            else:
                means[name] = sum(numbers) / len(numbers)
        return means

    def close(self) -> None:
        self.done.set()
        if self.thread.is_alive():
            self.thread.join()
        try:
            self.file.close()
            if not self.written:
                self.path.unlink()
        except OSError as error:
            self.note(f"{self.path}: could not be written ({error})")
