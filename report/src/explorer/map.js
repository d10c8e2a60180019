// The job map: a row a rank, time to the right, shares of classes as colours. What is fetched is a picture of a window;
// while another window is on its way the picture is stretched.
import { moment, ticks } from './axis.js';
import { colourOf, parts } from './classes.js';
import { colours } from '../theme.js';

export const LEFT = 76;
const AXIS = 22;
const STEPS = 20;
export const TOP = AXIS + STEPS;
const MOST_ROW = 56;
const BAND = 60000; // values that are painted between two looks at the clock
const SLICE = 5; // ms of a frame that painting may take
const PLAIN = 7; // rows from this height on show shares one above the other; lower ones mix their colours

// Rows too low for stacks: a pixel is the mean of its classes' colours, paler where less was recorded.
function mixColumns(data, inks, packed, { rows, width, row }, pixels) {
    const k = inks.length;
    const [red, green, blue] = [0, 1, 2].map((at) => Float64Array.from(inks, (ink) => ink[at]));
    for (let i = 0; i < rows; i += 1) {
        const line = i * row * width;
        for (let c = 0, at = i * width * k; c < width; c += 1, at += k) {
            let [r, g, b, sum, last] = [0, 0, 0, 0, 0];
            for (let j = 0; j < k; j += 1) {
                const share = data[at + j];
                if (share === 0) continue;
                r += red[j] * share;
                g += green[j] * share;
                b += blue[j] * share;
                sum += share;
                last = j;
            }
            if (sum === 0) continue;
            pixels[line + c] = data[at + last] === 255 ? packed[last] : (((sum > 255 ? 255 : sum) << 24) | ((b / sum + 0.5) << 16) | ((g / sum + 0.5) << 8) | (r / sum + 0.5)) >>> 0;
        }
        for (let y = 1; y < row; y += 1) pixels.copyWithin(line + y * width, line, line + width);
    }
}

export class MapView {
    // options: source (gives the columns of a window: api.js' getMap or like it), ranks (how many), whatif (id or null), waits (separate
    // from other communication), order (of the rows; null: by rank), fold (several ranks a row: {text, rows, rowOf, labelOf}; null), roleOf, steps, title
    constructor(host, options) {
        this.options = options;
        this.canvas = document.createElement('canvas');
        this.canvas.className = 'map';
        this.canvas.setAttribute('role', 'img');
        this.canvas.setAttribute('aria-label', options.title);
        host.append(this.canvas);
        this.view = null;
        this.data = null;
        this.image = null;
        this.abort = null;
        this.marks = {};
    }

    // The space that it may take, CSS pixels.
    resize(width, height) {
        const rows = Math.max(1, Math.min(this.options.fold?.rows ?? this.options.ranks, Math.floor(height - TOP)));
        const row = Math.max(1, Math.min(MOST_ROW, Math.floor((height - TOP) / rows)));
        if (width === this.width && rows === this.rows && row === this.row) return;
        Object.assign(this, { width, rows, row, image: null });
        this.height = TOP + rows * row;
        this.ratio = devicePixelRatio || 1;
        this.canvas.width = Math.round(width * this.ratio);
        this.canvas.height = Math.round(this.height * this.ratio);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${this.height}px`;
        this.data = null;
        this.fetch();
    }

    show(view) {
        this.view = view;
        this.draw();
        this.fetch();
    }

    get plot() {
        return Math.max(1, this.width - LEFT);
    }

    xOf(ns) {
        return LEFT + ((ns - this.view.from) / (this.view.to - this.view.from)) * this.plot;
    }

    nsOf(x) {
        return this.view.from + ((x - LEFT) / this.plot) * (this.view.to - this.view.from);
    }

    rowOf(y) {
        const row = Math.floor((y - TOP) / this.row);
        return row >= 0 && this.data && row < this.data.ranks.length ? row : -1;
    }

    labelOf(rank) {
        return this.options.fold ? this.options.fold.labelOf(rank) : `${this.options.roleOf?.(rank)?.slice(0, 10) ?? 'rank'} ${rank}`;
    }

    // The middle of a rank's row; of a pooled rank that of the row that shows its group.
    yOf(rank) {
        if (!this.data) return null;
        const { fold } = this.options;
        let row = fold ? this.data.ranks.findIndex((r) => fold.rowOf(r) === fold.rowOf(rank)) : this.data.ranks.indexOf(rank);
        if (row < 0 && !this.options.order && !fold) row = this.data.ranks.findIndex((r) => r >= rank);
        return row < 0 ? null : TOP + (row + 0.5) * this.row;
    }

    async fetch() {
        if (!this.view || !this.width) return;
        const from = Math.max(0, Math.floor(this.view.from));
        const to = Math.max(from + 2, Math.ceil(this.view.to));
        const most = this.options.fold ? Math.max(64, Math.floor(1e6 / this.options.ranks)) : 4096;
        const width = Math.max(1, Math.min(Math.round(this.row < 3 ? this.plot / 2 : this.plot), to - from, most));
        const wanted = `${from} ${to} ${width} ${this.rows} ${this.options.waits ?? ''} ${this.options.order ?? ''} ${this.options.fold?.text ?? ''}`;
        if (this.wanted === wanted && (this.data || this.abort)) return;
        this.wanted = wanted;
        this.abort?.abort();
        const abort = new AbortController();
        this.abort = abort;
        try {
            const data = await this.options.source({ from, to, width, rows: this.rows, whatif: this.options.whatif, waits: this.options.waits, order: this.options.order, fold: this.options.fold?.text }, abort.signal);
            if (this.wanted !== wanted) return;
            const image = await this.paintInSlices(data, () => this.wanted === wanted);
            if (this.wanted !== wanted) return;
            this.data = data;
            this.image = image;
            this.abort = null;
            this.draw();
            this.options.onData?.(data);
        } catch (error) {
            if (this.abort === abort) this.abort = null;
            if (error.name !== 'AbortError') this.options.onRefusal?.(error);
        }
    }

    // Paints the picture of the data, a pixel a column, some rows at a time.
    *bands({ width, data, classes, ranks }) {
        const row = Math.max(1, Math.round(this.row * this.ratio));
        const gap = row >= 8 ? Math.max(1, Math.round(this.ratio)) : 0;
        const mixes = this.row < PLAIN;
        const made = document.createElement('canvas');
        made.width = width;
        made.height = ranks.length * row;
        const context = made.getContext('2d');
        const inks = classes.map((name) => parts(colourOf(name)));
        const packed = inks.map(([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
        const k = classes.length;
        const waits = classes.indexOf('exposed_wait');
        const comm = packed[classes.indexOf('exposed_comm')];
        const together = Math.max(1, Math.floor(BAND / (width * k)));
        for (let first = 0; first < ranks.length; first += together) {
            const rows = Math.min(together, ranks.length - first);
            const image = context.createImageData(width, rows * row);
            const pixels = new Uint32Array(image.data.buffer);
            const part = data.subarray(first * width * k, (first + rows) * width * k);
            if (mixes) mixColumns(part, inks, packed, { rows, width, row }, pixels);
            else this.stackColumns({ width, data: part, rows, row, gap, waits, comm, packed }, pixels);
            context.putImageData(image, 0, first * row);
            yield made;
        }
    }

    paint() {
        for (const made of this.bands(this.data)) this.image = made;
    }

    // The same while frames go on: what it takes of one is bounded. null: it is not wanted any more.
    async paintInSlices(data, isWanted) {
        let image = null;
        let begun = performance.now();
        for (const made of this.bands(data)) {
            image = made;
            if (performance.now() - begun < SLICE) continue;
            performance.measure('map paint', { start: begun, end: performance.now() });
            await new Promise((done) => { setTimeout(done, 0); });
            if (!isWanted()) return null;
            begun = performance.now();
        }
        return image;
    }

    stackColumns({ width, data, rows, row, gap, waits, comm, packed }, pixels) {
        const k = packed.length;
        for (let i = 0; i < rows; i += 1)
            for (let c = 0; c < width; c += 1) {
                const at = (i * width + c) * k;
                // from the bottom up in the order of the classes; what was not recorded stays empty at the top
                let filled = 0;
                let before = row - gap;
                for (let j = 0; j < k; j += 1) {
                    const ns = data[at + j];
                    if (!ns) continue;
                    filled += ns;
                    const until = Math.max(0, Math.round((row - gap) * (1 - filled / 255)));
                    for (let y = until; y < before; y += 1) pixels[(i * row + y) * width + c] = j === waits && (c + y) % 6 === 0 ? comm : packed[j];
                    before = until;
                }
            }
    }

    draw() {
        if (!this.view || !this.width) return;
        const begun = performance.now();
        const context = this.canvas.getContext('2d');
        const theme = colours();
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.clearRect(0, 0, this.width, this.height);
        context.font = '11px system-ui, "DejaVu Sans", sans-serif';
        context.textBaseline = 'middle';
        this.drawAxis(context, theme);
        if (this.data) {
            if (!this.image) this.paint();
            const x = this.xOf(this.data.from);
            const end = this.xOf(this.data.to);
            context.save();
            context.beginPath();
            context.rect(LEFT, TOP, this.plot, this.height - TOP);
            context.clip();
            context.imageSmoothingEnabled = false;
            context.drawImage(this.image, x, TOP, end - x, this.data.ranks.length * this.row);
            context.restore();
            this.drawRanks(context, theme);
        }
        this.drawMarks(context, theme);
        performance.measure('map', { start: begun, end: performance.now() });
    }

    drawAxis(context, theme) {
        const { step, at } = ticks(this.view.from, this.view.to, this.plot / 110);
        context.textAlign = 'center';
        for (const ns of at) {
            const x = this.xOf(ns);
            context.fillStyle = theme.line;
            context.fillRect(Math.round(x), AXIS - 5, 1, this.height);
            context.fillStyle = theme.muted;
            const text = moment(ns, step);
            const half = context.measureText(text).width / 2;
            if (x - half > LEFT - 8 && x + half < this.width) context.fillText(text, x, AXIS / 2);
        }
        for (const s of this.options.steps) {
            const from = this.xOf(s.from);
            const to = this.xOf(s.to);
            if (to < LEFT || from > this.width) continue;
            const left = Math.max(LEFT, from);
            const right = Math.min(this.width, to);
            context.fillStyle = theme.line;
            context.fillRect(left, AXIS + 1, Math.max(1, right - left - 2), STEPS - 4);
            const text = `step ${s.step}`;
            if (context.measureText(text).width + 8 < right - left) {
                context.fillStyle = theme.text;
                context.fillText(text, (left + right) / 2, AXIS + STEPS / 2 - 1);
            }
        }
    }

    drawRanks(context, theme) {
        const every = Math.max(1, Math.ceil(13 / this.row));
        context.textAlign = 'right';
        for (let i = 0; i < this.data.ranks.length; i += every) {
            context.fillStyle = this.data.ranks[i] === this.marks.rank ? theme.accent : theme.muted;
            const y = TOP + (every > 1 ? i * this.row + 6 : (i + 0.5) * this.row);
            if (y + 5 <= this.height + 2) context.fillText(this.labelOf(this.data.ranks[i]), LEFT - 8, y);
        }
        if (this.marks.rank !== null && this.marks.rank !== undefined) {
            const y = this.yOf(this.marks.rank);
            if (y === null) return;
            const height = Math.max(3, this.row);
            context.fillStyle = theme.accent;
            context.fillRect(LEFT - 4, y - height / 2, 3, height);
        }
    }

    drawMarks(context, theme) {
        const { cursor, selection, chain, path, flag } = this.marks;
        context.save();
        context.beginPath();
        context.rect(LEFT, 0, this.plot, this.height);
        context.clip();
        if (selection) {
            const x = this.xOf(selection.from);
            const width = this.xOf(selection.to) - x;
            const ys = selection.ranks?.map((rank) => this.yOf(rank)).filter((y) => y !== null) ?? [];
            const y = ys.length ? Math.min(...ys) - this.row / 2 : TOP;
            const height = ys.length ? Math.max(...ys) + this.row / 2 - y : this.height - TOP;
            // what is not selected steps back
            context.globalAlpha = 0.55;
            context.fillStyle = theme.surface;
            context.fillRect(LEFT, TOP, x - LEFT, this.height - TOP);
            context.fillRect(x + width, TOP, this.width - x - width, this.height - TOP);
            context.fillRect(x, TOP, width, y - TOP);
            context.fillRect(x, y + height, width, this.height - y - height);
            context.globalAlpha = 1;
            context.strokeStyle = theme.text;
            context.lineWidth = 1.5;
            context.strokeRect(x, y + 0.75, width, height - 1.5);
        }
        if (flag) {
            context.strokeStyle = '#c8590a';
            context.lineWidth = 2;
            for (const rank of flag.ranks) {
                const y = this.yOf(rank);
                if (y === null) continue;
                const height = Math.max(4, this.row);
                const x = Math.max(LEFT + 1, this.xOf(flag.from));
                context.strokeRect(x, y - height / 2, Math.min(this.width - 1, this.xOf(flag.to)) - x, height - 1);
            }
        }
        for (const line of [path, chain]) {
            if (!line?.length) continue;
            context.lineJoin = 'round';
            context.strokeStyle = theme.surface;
            context.lineWidth = 6;
            this.drawChain(context, line);
            context.strokeStyle = theme.text;
            context.lineWidth = 2.5;
            this.drawChain(context, line);
        }
        if (cursor !== null && cursor !== undefined) {
            context.fillStyle = theme.text;
            context.fillRect(Math.round(this.xOf(cursor)), AXIS, 1, this.height);
        }
        context.restore();
    }

    // From the end back to its cause, hop by hop. Hops on one rank are one stroke; what is not in the window is left out.
    drawChain(context, chain) {
        context.beginPath();
        let rank = null;
        for (let i = 0; i < chain.length; ) {
            let end = i + 1;
            while (end < chain.length && chain[end].rank === chain[i].rank) end += 1;
            const [to, from] = [chain[i].to, chain[end - 1].from];
            const y = this.yOf(chain[i].rank);
            if (y !== null && from <= this.view.to && to >= this.view.from) {
                if (rank === null) context.moveTo(this.xOf(to), y);
                else context.lineTo(this.xOf(to), y);
                context.lineTo(this.xOf(from), y);
                rank = chain[i].rank;
            } else if (rank !== null) {
                context.lineTo(this.xOf(to), y ?? TOP);
                rank = null;
            }
            i = end;
        }
        context.stroke();
    }

    // What a point shows: rank, moment, ns by class of its column.
    at(x, y) {
        const row = this.rowOf(y);
        if (row < 0 || x < LEFT) return null;
        const ns = this.nsOf(x);
        const column = Math.floor(((ns - this.data.from) / (this.data.to - this.data.from)) * this.data.width);
        const k = this.data.classes.length;
        const shares = [];
        if (column >= 0 && column < this.data.width)
            for (let j = 0; j < k; j += 1) {
                const value = this.data.data[(row * this.data.width + column) * k + j];
                if (value) shares.push([this.data.classes[j], value / 255]);
            }
        return { rank: this.data.ranks[row], ns, shares: shares.sort((a, b) => b[1] - a[1]), column: (this.data.to - this.data.from) / this.data.width };
    }
}
