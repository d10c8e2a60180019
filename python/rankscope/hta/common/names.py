"""Short names of kernels, as HTA writes them."""
import functools


@functools.lru_cache(maxsize=1 << 16)
def shorten_name(name: str) -> str:
    """Template and call arguments left out, and what is before the last space. Copies and names whose brackets do
    not match stay as they are."""
    if name.startswith(("Memcpy", "Memset")) or ("<" not in name and "(" not in name):
        return name
    kept = []
    depth = 0
    for c in name.replace("->", ""):
        if c in "<(":
            depth += 1
        elif c in ">)":
            depth -= 1
            if depth < 0:
                return name
        elif depth == 0:
            kept.append(c)
    short = "".join(kept).rstrip(" ").split(" ")[-1]
    return short if short and depth == 0 else name
