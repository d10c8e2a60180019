"""Pictures of the tables, drawn with plotly where it is installed."""
from ._need import plotly_express


def _show(figure, renderer=""):
    if renderer:
        figure.show(renderer=renderer)
    else:
        figure.show()


def temporal(frame):
    px = plotly_express()
    if px is None:
        return
    kinds = ["idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg"]
    figure = px.bar(frame, x="rank", y=kinds, title="Temporal breakdown across ranks",
                    labels={"value": "Percentage", "rank": "Rank", "variable": ""})
    _show(figure)


def overlap(frame):
    px = plotly_express()
    if px is None:
        return
    _show(px.bar(frame, x="rank", y="comp_comm_overlap_pctg", title="Computation-communication overlap",
                 labels={"rank": "Rank", "comp_comm_overlap_pctg": "Overlap (%)"}))


def kernels(types, names, renderer=""):
    px = plotly_express()
    if px is None:
        return
    _show(px.pie(types, values="percentage", names="kernel_type", title="Kernel types", hole=0.4), renderer)
    for kind, rows in names.groupby("kernel_type", sort=True):
        _show(px.pie(rows, values="sum (us)", names="name", title="Time of %s kernels, all ranks" % kind,
                     hole=0.4), renderer)
        for name, kernel in rows.groupby("name", sort=True):
            if name == "others" or len(kernel) < 2:
                continue
            figure = px.bar(kernel, x="rank", y="mean (us)", title=str(name),
                            labels={"rank": "Rank", "mean (us)": "Mean duration (us)"})
            figure.update_traces(error_y={
                "type": "data",
                "symmetric": False,
                "array": (kernel["max (us)"] - kernel["mean (us)"]).tolist(),
                "arrayminus": (kernel["mean (us)"] - kernel["min (us)"]).tolist(),
            })
            _show(figure, renderer)


def annotations(frame, side, renderer=""):
    px = plotly_express()
    if px is None:
        return
    for rank, rows in frame.groupby("rank", sort=True):
        _show(px.pie(rows, values="sum (us)", names="name", hole=0.4,
                     title="%s user annotations of rank %s" % (side, rank)), renderer)


def idle(frame, percent):
    px = plotly_express()
    if px is None:
        return
    value = "idle_time_ratio" if percent else "idle_time"
    for rank, rows in frame.groupby("rank", sort=False):
        _show(px.bar(rows, x="stream", y=value, color="idle_category", hover_data=["idle_time", "idle_time_ratio"],
                     title="Idle time by stream, rank %s" % rank,
                     labels={"stream": "Stream", value: "Share of the idle time" if percent else "Idle time (us)"}))


def launches(frames, runtime_cutoff, delay_cutoff):
    px = plotly_express()
    if px is None:
        return
    for rank, rows in frames.items():
        pictures = (
            (rows[rows["gpu_duration"] < rows["cpu_duration"]], "gpu_duration", "kernels shorter than their launch"),
            (rows[rows["cpu_duration"] > runtime_cutoff], "cpu_duration", "runtime calls above %s us" % runtime_cutoff),
            (rows[rows["launch_delay"] > delay_cutoff], "launch_delay", "launch delays above %s us" % delay_cutoff),
        )
        for part, column, title in pictures:
            _show(px.histogram(part, x=column, title="Rank %s: %s" % (rank, title)))


def sequences(frame, operator):
    px = plotly_express()
    if px is None or len(frame) == 0:
        return
    labels = [p if len(p) <= 80 else p[:77] + "..." for p in frame["pattern"]]
    _show(px.pie(frame.assign(shown=labels), values="count", names="shown", hole=0.4,
                 title="Kernel sequences of %s" % operator))


def stragglers(frame):
    px = plotly_express()
    if px is None:
        return
    _show(px.bar(frame, x="rank", y="count", title="How often a rank was among the last"))


def difference(frame, columns, title, show=True, path=None):
    if plotly_express() is None:
        return
    import plotly.graph_objects as go

    bars = [go.Bar(name=column, x=frame.index, y=frame[column]) for column in columns]
    figure = go.Figure(data=bars, layout={"barmode": "group", "title": title})
    if path:
        figure.write_image(path)
    if show:
        _show(figure)


def memory(frame, categories, path=None):
    px = plotly_express()
    if px is None:
        return
    figure = px.area(frame, x="time_ms", y=categories, title="Memory timeline",
                  labels={"time_ms": "Time (ms)", "value": "Memory (GB)", "variable": ""})
    if path:
        figure.write_image(path)
    else:
        _show(figure)
