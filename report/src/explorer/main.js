// The explorer: one job on one page. State lives in the address (state.js); views draw it; panels explain it.
import { get, getMap, onGone, post } from './api.js';
import { duration, moment } from './axis.js';
import { colourOf, LABELS } from './classes.js';
import { LanesView } from './lanes.js';
import { LEFT, MapView } from './map.js';
import { eventPanel, findingsPanel, pathPanel, picturePanel, refusal, searchPanel, selectionPanel, sqlPanel, whyPanel } from './panels.js';
import { saveCsv, savePng, saveSvg } from './save.js';
import { Store } from './state.js';
import { h, ranges, sentence, visible } from '../dom.js';
import { colours, onTheme, startTheme, themeButton } from '../theme.js';

const KEYS = [
    ['W, S', 'zoom in, zoom out; the wheel zooms at the pointer'],
    ['A, D, \u2190, \u2192', 'move in time'],
    ['\u2191, \u2193', 'the rank above, the rank below'],
    ['Enter', 'open the rank'],
    ['F', 'the entire job'],
    ['Z', 'zoom to the selection'],
    ['Y', 'why does this rank wait at the cursor?'],
    ['C', 'the critical path over all ranks'],
    ['M', 'who holds the GPU\u2019s memory, where snapshots were given'],
    ['U', 'undo the last move (also Back)'],
    ['/', 'search'],
    ['Esc', 'close the rank, drop the selection'],
    ['?', 'this list'],
];
const PANELS = [
    ['selection', 'Selection', selectionPanel],
    ['event', 'Event', eventPanel],
    ['why', 'Why', whyPanel],
    ['path', 'Critical path', pathPanel],
    ['search', 'Search', searchPanel],
    ['sql', 'SQL', sqlPanel],
];

const MOST_FOLDED = 800; // rows; more do not fit

class App {
    constructor(job) {
        this.job = job;
        this.store = new Store();
        this.last = Math.max(1, job.last_ns);
        this.byRank = new Map(job.ranks.map((rank) => [rank.rank, rank]));
        this.roles = new Set(job.ranks.map((rank) => rank.role).filter(Boolean));
        this.chain = null;
        this.path = null;
        this.flag = null;
        this.mended = null;
        this.axes = [];
        this.build();
        this.store.onChange((state, before) => this.update(state, before));
        new ResizeObserver(() => this.layOut()).observe(this.views);
        addEventListener('keydown', (event) => this.key(event));
        onTheme(() => {
            this.map.image = null;
            if (this.second) this.second.image = null;
            this.legend();
            this.draw();
        });
        if (job.ranks.length === 1 && !location.hash) this.store.state.rank = job.ranks[0].rank;
        this.layOut();
        this.update(this.store.state, {});
        if (this.store.state.edit) this.mend(this.store.state.edit);
    }

    get view() {
        const { from, to } = this.store.state;
        return from !== null && to !== null && to > from ? { from, to } : { from: 0, to: this.last };
    }

    // ---- the page ----

    build() {
        const { job } = this;
        const title = job.paths.map(({ path }) => path.replace(/\/+$/, '').split('/').pop()).join(', ');
        document.title = `${title} - rankscope`;
        this.legendList = h('ul', { class: 'legend', 'aria-label': 'Colours' });
        this.banner = h('p', { class: 'gone', role: 'alert', hidden: true }, 'The server does not answer: `rankscope view` has ended. What is here stays.');
        this.maps = h('div', { class: 'maps' });
        this.mapHost = h('div');
        this.secondHost = h('div', { hidden: true });
        this.maps.append(this.mapHost, this.secondHost);
        this.scroller = h('div', { class: 'scroller' });
        this.rankTitle = h('h2');
        this.rankFacts = h('span', { class: 'aside' });
        this.rankBox = h(
            'div',
            { class: 'rankbox', hidden: true },
            h('div', { class: 'title' }, this.rankTitle, this.rankFacts, h('button', { type: 'button', onclick: () => this.closeRank() }, 'Close')),
            this.scroller,
        );
        this.noRank = h('section', { class: 'below', 'aria-label': 'Pictures of the selection' });
        this.views = h('div', { class: 'views' }, this.maps, this.rankBox, this.noRank);
        this.findingsBox = findingsPanel(this);
        this.tabs = PANELS.map(([id, label]) =>
            h('button', { type: 'button', role: 'tab', 'aria-selected': 'false', onclick: () => this.store.move({ panel: id }) }, label),
        );
        this.panel = h('div', { class: 'panel-body' });
        const side = h(
            'aside',
            { class: 'side', 'aria-label': 'Findings and details' },
            this.losses(),
            this.findingsBox.element,
            h('section', { class: 'details', 'aria-label': 'Details' }, h('div', { class: 'tabs', role: 'tablist' }, this.tabs), this.panel),
        );
        this.statusLine = h('div', { class: 'status', role: 'status' });
        this.help = h(
            'dialog',
            { 'aria-label': 'Keys' },
            h('h2', {}, 'Keys'),
            h('dl', {}, KEYS.flatMap(([keys, what]) => [h('dt', {}, keys.split(', ').map((k) => [h('kbd', {}, k), ' '])), h('dd', {}, what)])),
            h('button', { type: 'button', onclick: () => this.help.close() }, 'Close'),
        );
        this.orderBox = h(
            'select',
            { 'aria-label': 'Order of the rows', onchange: (event) => this.store.move({ order: event.target.value || null }) },
            [['', 'Rows by rank'], ...(this.roles.size ? [['role', 'Rows by role']] : []), ['own', 'Rows by computation'], ['communication', 'Rows by communication'], ...this.folds().map(({ text, name }) => [`fold:${text}`, name])].map(([value, text]) => h('option', { value, selected: value === (this.store.state.order ?? '') }, text)),
        );
        document.body.append(
            h(
                'header',
                { class: 'bar' },
                h('span', { class: 'brand' }, 'rankscope'),
                h('span', { class: 'job', title: job.paths.map(({ path }) => visible(path)).join('\n') }, visible(title)),
                this.legendList,
                h(
                    'div',
                    { class: 'actions' },
                    job.ranks.length > 1 ? this.orderBox : null,
                    h('button', { type: 'button', onclick: () => this.fit() }, 'Fit'),
                    h('button', { type: 'button', onclick: () => history.back() }, 'Undo'),
                    h('button', { type: 'button', onclick: () => this.showPath() }, 'Critical path'),
                    h('button', { type: 'button', onclick: () => this.search() }, 'Search'),
                    h(
                        'select',
                        {
                            'aria-label': 'Save what is seen of the map',
                            onchange: (event) => {
                                this.save(event.target.value);
                                event.target.value = '';
                            },
                        },
                        [['', 'Save'], ['png', 'Picture (PNG)'], ['svg', 'Drawing (SVG)'], ['csv', 'Numbers (CSV)']].map(([value, text]) => h('option', { value }, text)),
                    ),
                    themeButton(),
                    h('button', { type: 'button', 'aria-label': 'Keys', onclick: () => this.help.showModal() }, '?'),
                ),
            ),
            this.banner,
            h('main', { class: 'stage' }, this.views, side),
            this.statusLine,
            this.help,
        );
        onGone((gone) => {
            this.banner.hidden = !gone;
        });
        this.map = this.makeMap(this.mapHost, null, `Map of ${job.ranks.length} ranks over ${duration(this.last)}`);
        this.lanes = new LanesView(this.scroller, { onRefusal: (error) => this.say(error) });
        this.wireLanes();
    }

    // What the files do not have; null: nothing is lacking.
    losses() {
        const world = Math.max(0, ...this.job.ranks.map((rank) => rank.world ?? 0));
        const missing = [...Array(Math.min(world, 1 << 16)).keys()].filter((rank) => !this.byRank.has(rank));
        const lines = [
            missing.length && missing.length < world ? `${missing.length === 1 ? 'Rank' : 'Ranks'} ${ranges(missing)} of ${world} ${missing.length === 1 ? 'is' : 'are'} not among the files: what was waited for there is not seen.` : null,
            ...this.job.lost.map(({ file, message, count }) => `${file ? `${file}: ` : ''}${message}${count > 1 ? ` (${count} times)` : ''}`),
        ].filter(Boolean);
        if (!lines.length) return null;
        const first = sentence(lines[0]);
        return h(
            'section',
            { class: 'losses', 'aria-label': 'What the files lack' },
            lines.length === 1 ? first : h('details', {}, h('summary', {}, first, ` and ${lines.length - 1} more`), h('ul', {}, lines.slice(1, 200).map((line) => h('li', {}, sentence(line))))),
        );
    }

    // Rows of several ranks that make sense: hosts where the files name them, else eight ranks.
    folds() {
        const { ranks } = this.job;
        const hosts = new Set(ranks.map((rank) => rank.host).filter(Boolean));
        const each = ranks.length / Math.max(1, hosts.size);
        const whole = hosts.size > 1 && Number.isInteger(each) && ranks.every((rank) => rank.host && rank.host === this.byRank.get(rank.rank - (rank.rank % each))?.host);
        const most = Math.max(...ranks.map((rank) => rank.rank));
        return [...(this.roles.size ? [{ text: 'role', name: 'A row a role' }] : []), ...(whole ? [{ text: String(each), name: 'A row a host' }] : most >= 8 && !(whole && each === 8) ? [{ text: '8', name: 'A row 8 ranks' }] : []), ...this.axes];
    }

    // fold:N: N ranks a row; fold:STRIDE,SIZE: a row a coordinate on an axis of the mesh; fold:role. As the map needs it, or null.
    foldOf(order) {
        if (order === 'fold:role' && this.roles.size) {
            const role = (rank) => this.byRank.get(rank)?.role ?? 'none';
            const members = new Map();
            for (const { rank } of this.job.ranks) members.set(role(rank), [...(members.get(role(rank)) ?? []), rank]);
            return { text: 'role', rows: members.size, rowOf: role, members: (rank) => members.get(role(rank)) ?? [rank], labelOf: role };
        }
        const [, first, size] = /^fold:([1-9]\d{0,5})(?:,([1-9]\d{0,5}))?$/.exec(order ?? '') ?? [];
        if (!first) return null;
        const rowOf = (rank) => (size ? Math.floor(rank / first) % size : Math.floor(rank / first));
        const members = new Map();
        for (const { rank } of this.job.ranks) members.set(rowOf(rank), [...(members.get(rowOf(rank)) ?? []), rank]);
        if (members.size > MOST_FOLDED) return null;
        const name = this.axes.find(({ text }) => text === `${first},${size}`)?.row ?? 'row';
        return {
            text: size ? `${first},${size}` : first,
            rows: members.size,
            rowOf,
            members: (rank) => members.get(rowOf(rank)) ?? [rank],
            labelOf: (rank) => (size ? `${name} ${rowOf(rank)}` : ranges(members.get(rowOf(rank)) ?? [rank])),
        };
    }

    // The pipeline's stages, once the mesh is known.
    async findAxes() {
        if (this.job.ranks.length < 2) return;
        try {
            const { tables } = await get('select', { table: 'structure' });
            this.axes = tables.mesh
                .filter((axis) => axis.axis === 'pp' && axis.stride && axis.size > 1)
                .map((axis) => ({ text: `${axis.stride},${axis.size}`, name: 'A row a pipeline stage', row: 'stage' }));
        } catch {
            return; // the mesh is not known
        }
        const fold = this.foldOf(this.store.state.order); // its rows have a name now
        for (const map of [this.map, this.second].filter(Boolean)) map.options.fold = fold;
        if (fold) this.draw();
        for (const { text, name } of this.axes) this.orderBox.append(h('option', { value: `fold:${text}`, selected: this.store.state.order === `fold:${text}` }, name));
    }

    makeMap(host, whatif, title) {
        const map = new MapView(host, {
            source: getMap,
            waits: whatif === null ? this.waits : null,
            order: whatif === null && !this.foldOf(this.store.state.order) ? this.store.state.order : null,
            fold: this.foldOf(this.store.state.order),
            ranks: this.job.ranks.length,
            roleOf: (rank) => this.byRank.get(rank)?.role,
            whatif,
            title,
            steps: whatif === null ? this.steps() : [],
            onData: (data) => {
                if (whatif === null) this.legend(data);
                document.documentElement.dataset.ready = String(Math.round(performance.now()));
            },
            onRefusal: (error) => this.say(error),
        });
        this.wire(map);
        return map;
    }

    // A band a step: from the first rank's start to its next one's.
    steps() {
        const byStep = new Map();
        for (const s of this.job.steps) {
            const known = byStep.get(s.step);
            if (!known) byStep.set(s.step, { step: s.step, from: s.from_ns, to: s.to_ns });
            else known.from = Math.min(known.from, s.from_ns);
        }
        const all = [...byStep.values()].sort((a, b) => a.from - b.from);
        return all.map((s, i) => ({ ...s, to: i + 1 < all.length ? Math.min(all[i + 1].from, Math.max(s.to, s.from)) : s.to }));
    }

    // Communication divides into waiting and transfer once the collectives of all ranks are matched.
    async divide() {
        if (this.job.ranks.length < 2) return;
        try {
            const { waits } = await get('waits');
            if (!waits.some((rank) => rank.wait_ns > 0)) return;
        } catch {
            return; // the findings say what is wrong with the job
        }
        this.waits = 1;
        this.map.options.waits = 1;
        this.map.fetch();
        this.lanes.refresh();
        if ((this.store.state.panel ?? 'selection') === 'selection') this.showPanel('selection');
    }

    legend(data = this.map?.data) {
        if (!data) return;
        const k = data.classes.length;
        this.seen ??= new Set();
        for (let i = 0; i < data.data.length; i += 1) if (data.data[i]) this.seen.add(data.classes[i % k]);
        this.legendList.replaceChildren(
            ...data.classes
                .filter((c) => this.seen.has(c))
                .map((c) => {
                    const mark = h('i', { 'aria-hidden': 'true' });
                    mark.style.background = colourOf(c);
                    return h('li', {}, mark, LABELS[c]);
                }),
        );
    }

    layOut() {
        const width = this.views.clientWidth;
        const open = this.store.state.rank !== null;
        const narrow = matchMedia('(max-width: 900px)').matches;
        const height = narrow ? innerHeight : this.views.clientHeight;
        const { selFrom, below } = this.store.state;
        const share = open ? 0.45 : selFrom !== null || below ? 0.55 : 0.88;
        const room = Math.max(110, (height * share) / (this.second ? 2 : 1) - (this.second ? 34 : 0));
        this.map.resize(width, room);
        this.second?.resize(width, room);
        if (open) this.lanes.resize(this.scroller.clientWidth, narrow ? Math.round(innerHeight * 0.5) : Math.max(80, this.scroller.clientHeight));
    }

    // ---- what is seen ----

    update(state, before) {
        const opened = (state.rank === null) !== (before.rank === null || before.rank === undefined);
        const rank = state.rank !== null && this.byRank.has(state.rank) ? state.rank : null;
        this.rankBox.hidden = rank === null;
        this.noRank.hidden = rank !== null;
        if (rank !== null) {
            const known = this.byRank.get(rank);
            this.rankTitle.textContent = `Rank ${rank}`;
            this.rankFacts.textContent = [known.device, `${known.events.toLocaleString('en')} events`, known.file].filter(Boolean).map(visible).join(' \u00b7 ');
        }
        const pictured = (s) => JSON.stringify([s.selFrom, s.selTo, s.selRanks, s.below, s.heldRank, s.heldOn, s.heldBy, s.heldAt]);
        if ((state.order ?? null) !== (before.order ?? null)) {
            const fold = this.foldOf(state.order);
            for (const map of [this.map, this.second].filter(Boolean)) Object.assign(map.options, { fold, order: fold || map === this.second ? null : state.order });
            this.orderBox.value = state.order ?? '';
            this.layOut();
        }
        const redrawn = rank === null && (pictured(state) !== pictured(before) || !this.noRank.firstChild);
        if (redrawn) this.noRank.replaceChildren(...picturePanel(this, state));
        if (opened || redrawn) this.layOut();
        this.draw();
        const place = state.panel ?? 'selection';
        const key = (s) => JSON.stringify({ selection: [s.selFrom, s.selTo, s.selRanks], event: [s.rank, s.event], why: [s.rank, s.cursor], path: [s.path], search: [], sql: [] }[s.panel ?? 'selection'] ?? []);
        if (place !== (before.panel ?? 'selection') || key(state) !== key(before) || !this.panel.firstChild) this.showPanel(place);
    }

    draw() {
        const { state } = this.store;
        const selection =
            state.selFrom !== null && state.selTo !== null
                ? { from: state.selFrom, to: state.selTo, ranks: state.selRanks ? this.listed(state.selRanks) : null }
                : null;
        const marks = { rank: state.rank, cursor: state.cursor, selection: this.dragged ?? selection, chain: state.panel === 'why' ? this.chain : null, path: state.path ? this.path : null, flag: this.flag };
        this.map.marks = marks;
        this.map.show(this.view);
        if (this.second) {
            this.second.marks = { rank: state.rank, cursor: null, selection: null };
            this.second.show(this.view);
        }
        if (state.rank !== null && this.byRank.has(state.rank)) {
            this.lanes.marks = { event: state.event, cursor: state.cursor };
            this.lanes.show(state.rank, this.view);
        }
    }

    // 0-2,7 as ranks of the job.
    listed(text) {
        const numbers = text.split(',').flatMap((part) => {
            const [first, last = first] = part.split('-').map(Number);
            return this.job.ranks.map((r) => r.rank).filter((rank) => rank >= first && rank <= last);
        });
        return numbers;
    }

    showPanel(place) {
        const row = PANELS.find(([id]) => id === place) ?? PANELS[0];
        this.tabs.forEach((tab, i) => tab.setAttribute('aria-selected', String(PANELS[i] === row)));
        this.panel.replaceChildren(row[2](this, this.store.state));
    }

    say(error) {
        this.statusLine.replaceChildren(refusal(error));
    }

    setChain(hops) {
        this.chain = hops;
        this.draw();
    }

    // ---- moves ----

    look(from, to, more = {}) {
        const least = 20;
        const span = Math.max(least, Math.min(to - from, this.last * 1.1));
        let start = Math.max(-0.02 * this.last, Math.min(from, this.last * 1.02 - span));
        if (span >= this.last) start = (this.last - span) / 2;
        this.store.move({ from: Math.round(Math.max(0, start)), to: Math.round(Math.max(0, start) + span), ...more });
    }

    zoom(factor, at = (this.view.from + this.view.to) / 2) {
        const { from, to } = this.view;
        this.look(at - (at - from) * factor, at + (to - at) * factor);
    }

    pan(share) {
        const { from, to } = this.view;
        this.look(from + (to - from) * share, to + (to - from) * share);
    }

    zoomTo(from, to, around = false) {
        const margin = (to - from) * (around ? 1.5 : 0.02);
        this.look(from - margin, to + margin);
    }

    fit() {
        this.store.move({ from: null, to: null });
    }

    goTo(finding) {
        const named = (finding.ranks ?? '').split(',').filter(Boolean).map(Number);
        this.flag = { ranks: named, from: finding.from_ns, to: finding.to_ns };
        this.findingsBox.mark(finding.place);
        const whole = finding.from_ns <= 0 && finding.to_ns >= this.last;
        if (whole) this.store.move({ from: null, to: null });
        else this.zoomTo(finding.from_ns, finding.to_ns);
        this.draw();
    }

    goToHop(hop) {
        const span = Math.max(hop.to - hop.from, (this.view.to - this.view.from) / 20);
        this.look(hop.from - span, hop.to + span, { rank: hop.rank });
    }

    openEvent(rank, event) {
        const span = Math.max(event.to - event.from, 1000);
        const { from, to } = this.view;
        const inside = rank === this.store.state.rank && event.from >= from && event.to <= to && event.to - event.from > (to - from) / 200;
        const more = { rank, event: event.id, cursor: event.from, panel: 'event' };
        if (inside) this.store.move(more);
        else this.look(event.from - span * 4, event.to + span * 4, more);
    }

    setPath(hops) {
        this.path = hops;
        this.draw();
    }

    // The step at the middle of what is seen; all of them where most is seen.
    showPath() {
        if (this.store.state.path) {
            this.store.move({ path: null });
            return;
        }
        const { from, to } = this.view;
        const steps = this.steps();
        const middle = (from + to) / 2;
        const within = steps.find((s) => s.from <= middle && middle < s.to);
        const step = within && to - from < 3 * (within.to - within.from) ? String(within.step) : 'all';
        this.store.move({ path: step, panel: 'path' });
    }

    askWhy(rank, at) {
        this.store.move({ rank, cursor: at, panel: 'why' });
    }

    closeRank() {
        this.store.move({ rank: null, event: null });
    }

    // The map as it is seen.
    async save(form) {
        if (form === 'png') savePng(this.map);
        if (form === 'svg' && this.map.data) saveSvg(this.map);
        if (form !== 'csv' || !this.map.data) return;
        const { from, to, width, ranks } = this.map.data;
        try {
            saveCsv(await get('map', { from, to, width: Math.min(width, 500), ranks: ranges(ranks).replaceAll('\u2013', '-').replaceAll(' ', ''), waits: this.waits ?? null }));
        } catch (error) {
            this.say(error);
        }
    }

    search() {
        this.store.move({ panel: 'search' });
        document.getElementById('search')?.focus();
    }

    // The job as a replay has it with an edit, below the recorded one.
    async mend(edit) {
        this.findingsBox.say(h('p', { class: 'aside' }, 'Replaying\u2026'));
        this.findingsBox.edit.value = edit;
        let answer;
        try {
            [answer] = (await post('whatif', edit)).whatif;
        } catch (error) {
            this.findingsBox.say(refusal(error));
            return;
        }
        if (answer.id === null) {
            this.findingsBox.say(refusal(answer.reason ?? 'The replay refuses this.'));
            return;
        }
        const ms = (us) => `${(us / 1000).toFixed(us >= 1e5 ? 1 : 2)}\u202fms`;
        const text = `${ms(answer.before_us)} \u2192 ${ms(answer.after_us)} (95 % CI ${ms(answer.after_low_us)}\u2013${ms(answer.after_high_us)})`;
        this.findingsBox.say(
            h('p', { class: 'mended', 'data-after': answer.after_us }, 'A step: ', h('strong', {}, text)),
            answer.trusted === 1 ? '' : refusal(answer.reason ?? 'The replay cannot be relied on here.'),
            answer.assumption ? h('p', { class: 'aside' }, `Assumes: ${visible(answer.assumption)}`) : '',
        );
        this.secondHost.hidden = false;
        this.secondHost.replaceChildren(
            h('h2', {}, 'Replayed', h('span', { class: 'aside' }, h('bdi', {}, visible(edit))), h('button', { type: 'button', onclick: () => this.unmend() }, 'Close')),
        );
        this.second = this.makeMap(this.secondHost, answer.id, `The job as replayed with ${edit}`);
        this.mapHost.querySelector('h2')?.remove();
        this.mapHost.prepend(h('h2', {}, 'As recorded', h('span', { class: 'aside' }, `a step takes ${ms(answer.before_us)}, then ${ms(answer.after_us)}`)));
        this.store.move({ edit });
        this.layOut();
        this.draw();
    }

    unmend() {
        this.second = null;
        this.secondHost.hidden = true;
        this.secondHost.replaceChildren();
        this.mapHost.querySelector('h2')?.remove();
        this.findingsBox.say();
        this.store.move({ edit: null });
        this.layOut();
        this.draw();
    }

    // ---- pointer and keys ----

    wheel(event, x) {
        event.preventDefault();
        const { from, to } = this.view;
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / 800);
        else this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 220), from + ((x - LEFT) / Math.max(1, this.map.plot)) * (to - from));
    }

    wire(map) {
        const { canvas } = map;
        const point = (event) => {
            const box = canvas.getBoundingClientRect();
            return [event.clientX - box.left, event.clientY - box.top];
        };
        let begun = null;
        canvas.addEventListener('wheel', (event) => this.wheel(event, point(event)[0]), { passive: false });
        canvas.addEventListener('pointerdown', (event) => {
            if (event.button !== 0) return;
            const [x, y] = point(event);
            canvas.setPointerCapture(event.pointerId);
            begun = { x, y, view: this.view, pans: event.shiftKey, row: map.rowOf(y), moved: false };
        });
        canvas.addEventListener('pointermove', (event) => {
            const [x, y] = point(event);
            if (!begun) {
                this.hover(map.at(x, y));
                return;
            }
            if (Math.abs(x - begun.x) + Math.abs(y - begun.y) > 4) begun.moved = true;
            if (!begun.moved) return;
            if (begun.pans) {
                const ns = ((x - begun.x) / map.plot) * (begun.view.to - begun.view.from);
                this.look(begun.view.from - ns, begun.view.to - ns);
                return;
            }
            this.dragged = this.rectangle(map, begun, x, y);
            this.draw();
        });
        canvas.addEventListener('pointerup', (event) => {
            const [x, y] = point(event);
            const was = begun;
            begun = null;
            if (!was) return;
            if (!was.moved) {
                this.click(map, x, y);
            } else if (!was.pans) {
                const chosen = this.rectangle(map, was, x, y);
                this.dragged = null;
                this.store.move({ selFrom: Math.round(chosen.from), selTo: Math.round(chosen.to), selRanks: chosen.list, panel: 'selection' });
            }
        });
        canvas.addEventListener('pointerleave', () => this.hover(null));
    }

    rectangle(map, begun, x, y) {
        const a = Math.max(0, map.nsOf(Math.max(LEFT, Math.min(begun.x, x))));
        const b = Math.min(this.last, Math.max(a + 1, map.nsOf(Math.max(begun.x, x))));
        const rows = map.data?.ranks ?? [];
        const first = Math.max(0, Math.min(map.rowOf(Math.min(begun.y, y)), rows.length - 1));
        const below = map.rowOf(Math.max(begun.y, y));
        const last = below < 0 ? rows.length - 1 : below;
        const shown = rows.slice(first, last + 1);
        const chosen = map.options.fold ? shown.flatMap((rank) => map.options.fold.members(rank)) : shown;
        const all = shown.length === rows.length;
        return { from: a, to: b, ranks: chosen, list: all || !chosen.length ? null : ranges(chosen).replaceAll('\u2013', '-').replaceAll(' ', '') };
    }

    click(map, x, y) {
        const there = map.at(x, y);
        if (there) this.store.move({ rank: there.rank, cursor: Math.round(there.ns), event: null });
        else if (x < LEFT && map.rowOf(y) >= 0) this.store.move({ rank: map.data.ranks[map.rowOf(y)], event: null });
    }

    hover(there) {
        if (!there) {
            this.statusLine.replaceChildren(`${this.job.ranks.length} rank${this.job.ranks.length === 1 ? '' : 's'} \u00b7 ${duration(this.last)} recorded`);
            return;
        }
        this.statusLine.replaceChildren(
            h('strong', {}, this.map.labelOf(there.rank)),
            h('span', {}, moment(there.ns, there.column)),
            ...there.shares.map(([c, share]) => h('span', {}, `${LABELS[c]} ${(100 * share).toFixed(0)}\u202f%`)),
        );
    }

    wireLanes() {
        const { canvas } = this.lanes;
        const point = (event) => {
            const box = canvas.getBoundingClientRect();
            return [event.clientX - box.left, event.clientY - box.top];
        };
        canvas.addEventListener('wheel', (event) => {
            if (event.ctrlKey || event.altKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.wheel(event, point(event)[0]);
        }, { passive: false });
        canvas.addEventListener('click', (event) => {
            const item = this.lanes.at(...point(event));
            if (!item) return;
            if (item.count > 1) this.zoomTo(item.from, item.to, true);
            else this.store.move({ event: item.id, cursor: item.from, panel: 'event' });
        });
        canvas.addEventListener('pointermove', (event) => {
            const item = this.lanes.at(...point(event));
            const counter = item ? null : this.lanes.counterAt(...point(event));
            if (counter) this.statusLine.replaceChildren(h('strong', {}, h('bdi', {}, visible(counter.name))), h('span', {}, counter.text));
            if (!item) return;
            this.statusLine.replaceChildren(
                h('strong', {}, h('bdi', {}, visible(item.count > 1 ? `${item.count} events, the longest: ${item.name}` : item.name).slice(0, 200))),
                h('span', {}, duration(item.count > 1 ? item.busy : item.to - item.from)),
            );
        });
    }

    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
        if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
            if (event.key === 'Escape') event.target.blur();
            return;
        }
        if (event.key === 'Enter' && event.target !== document.body) return;
        const ranks = this.job.ranks.map((r) => r.rank);
        const at = ranks.indexOf(this.focus ?? this.store.state.rank);
        const step = (by) => {
            this.focus = ranks[Math.max(0, Math.min(ranks.length - 1, at < 0 ? 0 : at + by))];
            if (this.store.state.rank !== null) this.store.move({ rank: this.focus, event: null });
            else {
                this.map.marks.rank = this.focus;
                this.map.draw();
                this.statusLine.textContent = `rank ${this.focus}: Enter opens it`;
            }
        };
        const { state } = this.store;
        const actions = {
            w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7),
            a: () => this.pan(-0.2), d: () => this.pan(0.2),
            ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
            ArrowUp: () => step(-1), ArrowDown: () => step(1),
            Enter: () => this.store.move({ rank: this.focus ?? ranks[0] }),
            f: () => this.fit(),
            z: () => state.selFrom !== null && this.zoomTo(state.selFrom, state.selTo),
            y: () => state.rank !== null && this.askWhy(state.rank, state.cursor ?? Math.round((this.view.from + this.view.to) / 2)),
            c: () => this.showPath(),
            m: () => this.job.memory && this.store.move({ rank: null, below: state.below === 'memory' ? null : 'memory' }),
            u: () => history.back(),
            '/': () => this.search(),
            '?': () => this.help.showModal(),
            Escape: () => (state.rank !== null ? this.closeRank() : this.store.move({ selFrom: null, selTo: null, selRanks: null })),
        };
        const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
        if (!action) return;
        event.preventDefault();
        action();
    }
}

// Asks how far the job has been read until `enough` says so; `show` gets each percentage.
async function whileReading(enough, show) {
    for (;;) {
        const progress = await get('progress');
        if (enough(progress)) return progress;
        show(progress.total ? Math.floor((100 * progress.done) / progress.total) : 0);
        await new Promise((resolve) => setTimeout(resolve, 500));
    }
}

// What has been read so far can be worked with. When all has, the page opens again where it is: its address has its state.
async function showReading(job) {
    const bar = h('progress', { max: 100, value: 0, 'aria-label': 'Share of the traces that has been read' });
    const text = h('span', {});
    document.querySelector('main').before(h('p', { class: 'reading', role: 'status' }, bar, text));
    await whileReading(
        ({ complete }) => complete,
        (percent) => {
            bar.value = percent;
            text.textContent = ` ${percent} % read; so far ${job.ranks.length} of the ranks are shown.`;
        },
    );
    location.reload();
}

async function start() {
    startTheme();
    const waiting = h('main', { class: 'noscript', role: 'status' });
    try {
        document.body.append(waiting);
        const { complete } = await whileReading(
            ({ usable }) => usable,
            (percent) => {
                waiting.textContent = `The traces are being read: ${percent} %`;
            },
        );
        waiting.remove();
        const job = await get('job');
        const app = new App(job);
        if (!complete) showReading(job).catch((error) => app.say(error));
        app.hover(null);
        await app.findingsBox.loaded;
        if (complete) await app.divide(); // the server may go on to all ranks at any moment, which are matched then
        await app.findAxes();
        document.documentElement.dataset.complete = 'yes';
    } catch (error) {
        waiting.remove();
        document.body.append(h('main', { class: 'noscript' }, refusal(error)));
    }
}

start();
