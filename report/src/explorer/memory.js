// Who holds the GPU's memory, by snapshots of the allocator that were given with the traces.
import { get } from './api.js';
import { command, shell } from './panels.js';
import { heldPictures } from '../held.js';
import { h, sentence } from '../dom.js';
import { quantity, time } from '../format.js';

const WAYS = [
    ['category', 'what it is for'],
    ['line', 'source line'],
    ['function', 'function'],
    ['op', 'operator'],
    ['annotation', 'annotation'],
    ['stream', 'stream'],
    ['pool', 'pool'],
];
const STRETCHES = 300;
const MOST_BLOCKS = 20000;

// What was asked before: the overview, and layers by what is shown.
const asked = new Map();
function ask(values) {
    const key = JSON.stringify(values);
    if (!asked.has(key)) {
        const answer = get('memory', values);
        answer.catch(() => asked.delete(key)); // asked again next time
        asked.set(key, answer);
        if (asked.size > 24) asked.delete(asked.keys().next().value);
    }
    return asked.get(key);
}

function choose(label, value, choices, onchange) {
    return h('label', {}, `${label} `, h('select', { onchange: (event) => onchange(event.target.value) }, choices.map(([id, text]) => h('option', { value: id, selected: id === value }, text))));
}

export async function memoryPicture(app) {
    const { ranks, findings } = await ask({});
    const { state } = app.store;
    const fullest = ranks.reduce((a, b) => (b.peak_active_bytes > a.peak_active_bytes ? b : a));
    const shown = ranks.find((row) => row.rank === state.heldRank && row.device === state.heldOn) ?? fullest;
    const by = WAYS.some(([id]) => id === state.heldBy) ? state.heldBy : 'category';
    const at = /^(end|\d{1,15})$/.test(state.heldAt ?? '') ? state.heldAt : 'peak';
    const of = { rank: shown.rank };
    const mine = (rows) => rows.filter((row) => row.device === shown.device);
    const [{ layers }, { layout, peak }, { sites }] = await Promise.all([
        ask({ ...of, by, layers: STRETCHES, top: 12, tables: 'layers' }),
        ask({ ...of, at, layout: 1, top: MOST_BLOCKS, tables: 'layout,peak' }),
        ask({ ...of, at, by: 'stack', top: 2000, tables: 'sites' }),
    ]);
    const when = at === 'peak' ? 'at the peak' : at === 'end' ? 'at the end' : `at ${time(Number(at))}`;
    const made = heldPictures(
        { layers: mine(layers), layout: mine(layout), blocks: mine(peak), stacks: mine(sites) },
        { at: /^\d/.test(at) ? Number(at) : at, when, byCategory: by !== 'line', onPick: (us) => app.store.move({ heldAt: String(Math.floor(us)) }) },
    );
    const paths = app.job.snapshots.map(({ path }) => shell(path)).join(' ');
    return [
        h('p', { class: 'held-verdict' }, sentence(findings[0]?.finding ?? '')),
        h(
            'div',
            { class: 'held-tools' },
            choose('Device', `${shown.rank},${shown.device}`, ranks.map((row) => [`${row.rank},${row.device}`, `rank ${row.rank}, ${row.device}: ${quantity(row.peak_active_bytes, 'bytes', 'int')}`]), (value) => {
                const [rank, device] = value.split(',');
                app.store.move({ heldRank: Number(rank), heldOn: device, heldAt: null });
            }),
            choose('By', by, WAYS, (value) => app.store.move({ heldBy: value })),
            choose('Looked at', at, [['peak', 'the peak'], ['end', 'the end'], ...(/^\d/.test(at) ? [[at, time(Number(at))]] : [])], (value) => app.store.move({ heldAt: value })),
            h('span', { class: 'aside' }, 'a click into the picture chooses a moment'),
        ),
        made.area ?? h('p', { class: 'aside' }, 'The snapshot has no history: record it with torch.cuda.memory._record_memory_history().'),
        h('h3', {}, `Addresses ${when}`),
        made.blocks ?? h('p', { class: 'aside' }, 'Nothing is taken from the device then.'),
        h('h3', {}, `By stack ${when}`),
        made.flame ?? h('p', { class: 'aside' }, 'Nothing is active then.'),
        command(`rankscope memory --ranks ${shown.rank} --by ${by} --layers ${STRETCHES} ${paths}\nrankscope memory --ranks ${shown.rank} --at ${at} --top 0 --table peak ${paths}\nrankscope memory --ranks ${shown.rank} --at ${at} --by stack --table sites ${paths}`),
    ];
}
