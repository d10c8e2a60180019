// Numbers as people read them. A column has one unit and one precision, so that its digits line up.

const UNITS = {
    us: [
        [1e-3, 'ns'],
        [1, '\u00b5s'],
        [1e3, 'ms'],
        [1e6, 's'],
    ],
    ms: [
        [1e-3, '\u00b5s'],
        [1, 'ms'],
        [1e3, 's'],
    ],
    ns: [
        [1, 'ns'],
        [1e3, '\u00b5s'],
        [1e6, 'ms'],
        [1e9, 's'],
    ],
    bytes: [
        [1, 'B'],
        [1024, 'KiB'],
        [1024 ** 2, 'MiB'],
        [1024 ** 3, 'GiB'],
        [1024 ** 4, 'TiB'],
    ],
};
const FIXED = { percent: '%', 'GB/s': 'GB/s' };

const plain = new Map();
export function fixed(value, digits) {
    if (!plain.has(digits))
        plain.set(
            digits,
            new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
        );
    return plain.get(digits).format(value).replaceAll(',', '\u202f').replace('-', '\u2212');
}

const digitsFor = (size) => (size >= 100 ? 1 : size >= 10 ? 2 : 3);

function scaleFor(unit, size) {
    const steps = UNITS[unit];
    let chosen = steps[0];
    for (const step of steps) if (size >= step[0]) chosen = step;
    return chosen;
}

// One value by itself: "12.3 ms".
export function quantity(value, unit, type = 'time') {
    if (value === null || value === undefined) return 'unknown';
    if (UNITS[unit]) {
        if (value === 0) return unit === 'bytes' ? '0 B' : '0 s';
        const [scale, label] = scaleFor(unit, Math.abs(value));
        const scaled = value / scale;
        const whole = scale === 1 && (unit === 'bytes' || unit === 'ns');
        return `${fixed(scaled, whole ? 0 : Math.abs(scaled) >= 100 ? 1 : 2)}\u00a0${label}`;
    }
    if (unit === 'percent') return `${fixed(value, Math.abs(value) < 0.1 && value !== 0 ? 3 : 1)}\u00a0%`;
    if (unit === 'id') return `${value}`;
    if (unit === 'GB/s') return `${fixed(value, 1)}\u00a0GB/s`;
    return type === 'int' || Number.isInteger(value) ? fixed(value, 0) : fixed(value, digitsFor(Math.abs(value)));
}

export const time = (us) => quantity(us, 'us');
export const percent = (value) => quantity(value, 'percent');
export const count = (value) => quantity(value, 'count', 'int');

// {label, text(value)} for all cells of a column.
export function columnFormat(column, values) {
    const sizes = values
        .filter((v) => typeof v === 'number' && v !== 0)
        .map(Math.abs)
        .sort((a, b) => a - b);
    const middle = sizes.length ? sizes[sizes.length >> 1] : 0;
    if (UNITS[column.unit]) {
        const [scale, label] = sizes.length ? scaleFor(column.unit, middle) : [1, UNITS[column.unit][1][1]];
        const whole = scale === 1 && (column.unit === 'bytes' || column.unit === 'ns');
        const digits = whole ? 0 : digitsFor(middle / scale);
        return { label, text: (v) => (v === 0 ? '0' : fixed(v / scale, digits)) };
    }
    if (column.unit === 'percent') return { label: FIXED.percent, text: (v) => fixed(v, 1) };
    if (column.unit === 'GB/s') return { label: 'GB/s', text: (v) => fixed(v, 1) };
    if (column.unit === 'id') return { label: '', text: (v) => `${v}`.replace('-', '\u2212') };
    if (column.type === 'int') return { label: '', text: (v) => fixed(v, 0) };
    const digits = sizes.every(Number.isInteger) ? 0 : digitsFor(middle);
    return { label: '', text: (v) => fixed(v, digits) };
}

// The scale of a chart's axis: {scale, label}.
export function axisUnit(unit, values) {
    if (!UNITS[unit]) return { scale: 1, label: FIXED[unit] ?? '' };
    const [scale, label] = scaleFor(unit, Math.max(0, ...values.map((v) => Math.abs(v ?? 0))));
    return { scale, label };
}

const SUFFIX = /_(us|ms|ns|pct|gbps)$/;
export function heading(column) {
    const own = column.name.replace(SUFFIX, '').replaceAll('_', ' ');
    const text = !column.title || column.title === column.unit ? own : column.title;
    return text.replace(/ ?%$/, '').replace(/^\w/, (c) => c.toUpperCase());
}
