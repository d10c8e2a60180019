"""Which event of a thread contains which: the trees of both of HTA's modules of call stacks."""
from typing import Any, Callable, Dict, Iterable, List, Tuple

NULL_NODE_INDEX = -1
NON_EXISTENT_NODE_INDEX = -2


def nest(index: Iterable[int], start: Iterable[Any], length: Iterable[Any], root: int) -> List[Tuple[int, int]]:
    """(event, the one around it) in the order of time; root where there is none.

    An event is inside of the last that began before it, or with it and is longer, and has not ended; what takes no time also in
    one that ends right then."""
    events = sorted(zip(start, (-d for d in length), index))
    pairs: List[Tuple[int, int]] = []
    open_events: List[Tuple[Any, int]] = []  # ends, and whose
    for begin, shorter, event in events:
        while open_events and (open_events[-1][0] < begin or (open_events[-1][0] == begin and shorter != 0)):
            open_events.pop()
        pairs.append((event, open_events[-1][1] if open_events else root))
        open_events.append((begin - shorter, event))
    return pairs


class Tree:
    """What nodes (with parent and children) answer. self.nodes, self.root_index."""

    nodes: Dict[int, Any]
    root_index: int

    def get_nodes(self) -> Dict[int, Any]:
        return self.nodes

    def get_parent(self, node_id: int) -> int:
        """-2 for a node that is not there."""
        return self.nodes[node_id].parent if node_id in self.nodes else NON_EXISTENT_NODE_INDEX

    def get_children(self, node_id: int) -> List[int]:
        return self.nodes[node_id].children if node_id in self.nodes else []

    def _is_root(self, node_id: int) -> bool:
        return node_id < 0

    def get_path_to_root(self, node_id: int) -> List[int]:
        """The node, what is around it, and so on to the root."""
        if node_id not in self.nodes:
            return []
        path = [node_id]
        while not self._is_root(path[-1]):
            path.append(self.nodes[path[-1]].parent)
        return path

    def get_root(self, node_id: int) -> int:
        """-1 for a node that is not there."""
        return self.get_path_to_root(node_id)[-1] if node_id in self.nodes else NULL_NODE_INDEX

    def get_descendants(self, node_id: int) -> List[int]:
        """The node and all below it, each before what is inside of it."""
        found, waiting = [], [node_id] if node_id in self.nodes else []
        while waiting:
            found.append(waiting.pop())
            waiting.extend(reversed(self.get_children(found[-1])))
        return found

    def get_leaf_nodes(self, node_id: int) -> List[int]:
        """Those of them that contain nothing."""
        return [node for node in self.get_descendants(node_id) if not self.nodes[node].children]

    def get_paths_to_leaves(self, node_id: int) -> List[List[int]]:
        """From the node to each of its leaves."""
        paths = []
        for leaf in self.get_leaf_nodes(node_id):
            path = [leaf]
            while path[-1] != node_id:
                path.append(self.nodes[path[-1]].parent)
            paths.append(path[::-1])
        return paths

    def dfs_traverse(
        self, node_enter_func: Callable[[int, Any], None], node_exit_func: Callable[[int, Any], None]
    ) -> None:
        """Calls one function before a node's children are visited, and one after them."""
        waiting = [(self.root_index, False)] if self.root_index in self.nodes else []
        while waiting:
            node_id, left = waiting.pop()
            (node_exit_func if left else node_enter_func)(node_id, self.nodes[node_id])
            if not left:
                waiting.append((node_id, True))
                waiting.extend((child, False) for child in reversed(self.nodes[node_id].children))
