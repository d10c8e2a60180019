"""Short names of kernels, as HTA writes them."""


def shorten_name(name: str) -> str:
    """Template and call arguments left out, and what stands before the last space; copies stay as they are."""
    if name.startswith(("Memcpy", "Memset")) or ("<" not in name and "(" not in name):
        return name
    kept = []
    depth = 0
    for c in name.replace("->", ""):
        if c in "<(":
            depth += 1
        elif c in ">)":
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(c)
    return "".join(kept).split(" ")[-1]
