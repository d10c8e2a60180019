# The engine is private; the package gives it types.
from typing import Any

Job: Any
Table: Any
Result: Any
Flight: Any

def __getattr__(name: str) -> Any: ...
