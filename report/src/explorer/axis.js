// Time on the horizontal axis.

const UNITS = [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, '\u00b5s'],
    [1, 'ns'],
];

// Round steps of time so that there are about n over the span: [start, ..., end] in ns.
export function ticks(from, to, n) {
    const rough = (to - from) / Math.max(1, n);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough));
    const made = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) made.push(at);
    return { step, at: made };
}

// A moment with as many digits as a step needs.
export function moment(ns, step) {
    const [scale, unit] = UNITS.find(([s]) => Math.max(Math.abs(ns), step) >= s) ?? UNITS[3];
    const digits = Math.max(0, Math.min(6, Math.ceil(Math.log10(scale / step) - 1e-9)));
    return `${(ns / scale).toFixed(digits)}\u202f${unit}`;
}

export const duration = (ns) => {
    const [scale, unit] = UNITS.find(([s]) => Math.abs(ns) >= s) ?? UNITS[3];
    return `${(ns / scale).toFixed(scale === 1 ? 0 : ns / scale >= 100 ? 1 : 2)}\u202f${unit}`;
};

// A window as the option --window takes it.
export const windowText = (from, to) =>
    [from, to].map((ns) => `${Math.floor(ns / 1e6)}.${String(Math.round(ns % 1e6)).padStart(6, '0')}`).join('-');
