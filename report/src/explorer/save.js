// What is seen of the map as a file: a picture of points or of shapes, or its numbers.
import { moment, ticks } from './axis.js';
import { colourOf, LABELS } from './classes.js';
import { LEFT, TOP } from './map.js';
import { h } from '../dom.js';
import { colours } from '../theme.js';

function hand(blob, name) {
    const link = h('a', { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// On the page's own ground.
export function savePng(map) {
    const { canvas } = map;
    const copy = h('canvas', { width: canvas.width, height: canvas.height });
    const context = copy.getContext('2d');
    context.fillStyle = colours().surface;
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
    copy.toBlob((blob) => hand(blob, 'map.png'));
}

// A row's columns as rectangles of one class each, neighbours of the same height as one: [x, y, width, height].
function boxesOf({ data, width, classes }, row, of, tall) {
    const k = classes.length;
    const boxes = [];
    for (let c = 0; c < width; c += 1) {
        const at = (row * width + c) * k;
        let below = 0;
        for (let j = 0; j < of; j += 1) below += data[at + j];
        const share = data[at + of];
        if (!share) continue;
        const y = tall * (1 - Math.min(255, below + share) / 255);
        const high = tall * (share / 255);
        const last = boxes[boxes.length - 1];
        if (last && last[0] + last[2] === c && last[1] === y && last[3] === high) last[2] += 1;
        else boxes.push([c, y, 1, high]);
    }
    return boxes;
}

const number = (value) => String(Math.round(value * 100) / 100);

export function mapSvg(map) {
    const { data, view, width, height, row } = map;
    const theme = colours();
    const part = document.implementation.createDocument('http://www.w3.org/2000/svg', 'svg', null);
    const make = (parent, tag, attributes, text) => {
        const element = part.createElementNS('http://www.w3.org/2000/svg', tag);
        for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
        if (text !== undefined) element.textContent = text;
        parent.append(element);
        return element;
    };
    const root = part.documentElement;
    const below = 24;
    for (const [name, value] of Object.entries({ width, height: height + below, viewBox: `0 0 ${width} ${height + below}`, 'font-family': 'sans-serif', 'font-size': 11 })) root.setAttribute(name, value);
    make(root, 'rect', { width, height: height + below, fill: theme.surface });
    const { step, at } = ticks(view.from, view.to, map.plot / 110);
    for (const ns of at) make(root, 'text', { x: number(map.xOf(ns)), y: 15, fill: theme.muted, 'text-anchor': 'middle' }, moment(ns, step));
    for (const s of map.options.steps) {
        const from = Math.max(LEFT, map.xOf(s.from));
        const to = Math.min(width, map.xOf(s.to));
        if (to - from > 40) make(root, 'text', { x: number((from + to) / 2), y: 35, fill: theme.text, 'text-anchor': 'middle' }, `step ${s.step}`);
    }
    const tall = row >= 8 ? row - 1 : row;
    const column = (map.xOf(data.to) - map.xOf(data.from)) / data.width;
    data.classes.forEach((name, of) => {
        const path = data.ranks
            .flatMap((_, i) => boxesOf(data, i, of, tall).map(([c, y, wide, high]) => `M${number(map.xOf(data.from) + c * column)} ${number(TOP + i * row + y)}h${number(wide * column)}v${number(high)}h${number(-wide * column)}z`))
            .join('');
        if (path) make(root, 'path', { d: path, fill: colourOf(name), 'data-class': name });
    });
    const every = Math.max(1, Math.ceil(13 / row));
    data.ranks.forEach((rank, i) => {
        if (i % every === 0) make(root, 'text', { x: LEFT - 8, y: number(TOP + (i + 0.5) * row + 4), fill: theme.muted, 'text-anchor': 'end' }, map.labelOf(rank));
    });
    let x = LEFT;
    for (const name of data.classes) {
        make(root, 'rect', { x, y: height + 8, width: 10, height: 10, fill: colourOf(name) });
        make(root, 'text', { x: x + 14, y: height + 17, fill: theme.text }, LABELS[name]);
        x += 24 + LABELS[name].length * 6;
    }
    return new XMLSerializer().serializeToString(part);
}

export const saveSvg = (map) => hand(new Blob([mapSvg(map)], { type: 'image/svg+xml' }), 'map.svg');

// Of each rank and column of what is seen the ns of each class; answer: of `map`.
export function mapCsv(answer) {
    const lines = [`rank,from_ns,to_ns,${answer.classes.map((name) => `${name}_ns`).join(',')}`];
    const edge = (c) => answer.from + Math.floor(((answer.to - answer.from) * c) / answer.width);
    for (const { rank, columns } of answer.ranks) columns.forEach((sums, c) => lines.push(`${rank},${edge(c)},${edge(c + 1)},${sums.join(',')}`));
    return `${lines.join('\n')}\n`;
}

export const saveCsv = (answer) => hand(new Blob([mapCsv(answer)], { type: 'text/csv' }), 'map.csv');
