// The head, the verdict, and how fit the recording is.
import { h, name, plural, ranges, ranksText, sentence, visible } from './dom.js';
import { count, percent, time } from './format.js';
import { badge, noteList, panel, section } from './parts.js';
import { makeTable } from './table.js';
import { themeButton } from './theme.js';

const unique = (values) => [...new Set(values.filter((v) => v !== null && v !== ''))];
const baseName = (path) => path.replace(/\/+$/, '').split('/').pop() || path;

function steps(ranks) {
    const known = ranks.rows.filter((row) => ranks.get(row, 'steps'));
    if (!known.length) return 'no steps marked';
    const counts = unique(known.map((row) => ranks.get(row, 'steps')));
    const first = unique(known.map((row) => ranks.get(row, 'first_step')));
    const last = unique(known.map((row) => ranks.get(row, 'last_step')));
    if (counts.length > 1 || first.length > 1 || last.length > 1) return `${ranges(counts)} steps a rank`;
    return `${plural(counts[0], 'step')} (${first[0] === last[0] ? first[0] : `${first[0]}\u2013${last[0]}`})`;
}

export function head(data) {
    const ranks = data.answers.info.tables.ranks;
    const inputs = data.inputs.map((path) => (path === '-' ? 'standard input' : baseName(path)));
    const title =
        inputs.length === 0 ? 'Trace' : inputs.length === 1 ? inputs[0] : `${inputs[0]} and ${inputs.length - 1} more`;
    const world = unique(ranks.values('world_size'));
    const facts = [
        ranks.total === 1 ? `rank ${ranks.get(ranks.rows[0], 'rank')}` : plural(ranks.total, 'rank'),
        world.length === 1 && world[0] !== ranks.total ? `of a job of ${world[0]}` : null,
        steps(ranks),
        data.ranks ? `only ranks ${data.ranks}` : null,
        data.steps ? `only steps ${data.steps}` : null,
        data.window ? `only what starts in ${data.window} ms` : null,
        ...unique(ranks.values('device_name')).slice(0, 3),
        ...unique(ranks.values('backend')).slice(0, 3),
    ].filter(Boolean);
    document.title = `${visible(title).slice(0, 120)} \u2013 rankscope report`;
    return [
        h(
            'div',
            { class: 'top' },
            h('span', { class: 'brand' }, 'rankscope report'),
            h(
                'div',
                { class: 'actions' },
                data.trace ? h('a', { class: 'button', href: data.trace, rel: 'noopener' }, 'Open the trace') : null,
                themeButton(),
            ),
        ),
        h('h1', {}, name(title)),
        h(
            'p',
            { class: 'facts' },
            facts.map((fact) => h('span', {}, h('bdi', {}, visible(fact)))),
        ),
    ];
}

function tile(label, value, aside) {
    return h(
        'div',
        { class: 'tile' },
        h('div', { class: 'label' }, label),
        h('div', { class: 'value' }, value),
        h('div', { class: 'aside' }, aside),
    );
}

function tiles(data) {
    const ranks = data.answers.summary.tables.ranks;
    const breakdown = data.answers.breakdown.tables.breakdown;
    const made = [];
    const least = breakdown.extreme('busy_pct', -1);
    const most = breakdown.extreme('busy_pct');
    if (most)
        made.push(
            tile(
                'GPU busy',
                least === most
                    ? percent(breakdown.get(most, 'busy_pct'))
                    : `${percent(breakdown.get(least, 'busy_pct'))} to ${percent(breakdown.get(most, 'busy_pct'))}`,
                least === most
                    ? 'of its span'
                    : `rank ${breakdown.get(least, 'rank')} least, rank ${breakdown.get(most, 'rank')} most`,
            ),
        );
    const exposed = breakdown.extreme('exposed_comm_pct');
    if (exposed && !data.answers.overlap.tables.overlap.values('comm_us').some(Boolean))
        made.push(tile('Exposed communication', 'none', 'no communication kernel ran'));
    else if (exposed)
        made.push(
            tile(
                'Exposed communication',
                percent(breakdown.get(exposed, 'exposed_comm_pct')),
                breakdown.length > 1
                    ? `of the GPU\u2019s span on rank ${breakdown.get(exposed, 'rank')}, the most`
                    : 'of the GPU\u2019s span',
            ),
        );
    const slow = ranks.length > 1 ? ranks.extreme('own_time_us') : null;
    if (slow && ranks.get(slow, 'own_time_us') > 0) {
        const behind = ranks.get(slow, 'behind_median_pct');
        made.push(
            tile(
                'Slowest rank',
                `rank ${ranks.get(slow, 'rank')}`,
                `${time(ranks.get(slow, 'own_time_us'))} of its own${behind === null ? '' : `, ${percent(behind)} above the median`}`,
            ),
        );
    }
    const step = ranks.extreme('mean_step_us');
    if (step)
        made.push(
            tile(
                'Mean step',
                time(ranks.get(step, 'mean_step_us')),
                ranks.length > 1 ? `on rank ${ranks.get(step, 'rank')}, the longest` : 'on the host',
            ),
        );
    const bound = ranks.extreme('launch_bound_pct');
    if (bound)
        made.push(
            tile(
                'Launch-bound',
                percent(ranks.get(bound, 'launch_bound_pct')),
                `of the GPU\u2019s span waits for the host${ranks.length > 1 ? `, rank ${ranks.get(bound, 'rank')}` : ''}`,
            ),
        );
    return h('div', { class: 'tiles' }, made);
}

export function verdict(data) {
    const findings = data.answers.summary.tables.findings;
    const flight = data.flight && data.flight.answer.verdict !== 'healthy' ? data.flight.answer : null;
    const list = findings.rows.map((row) => {
        const share = findings.get(row, 'share_pct');
        const bar = h('span', { class: 'fill warm' });
        bar.style.width = `${Math.max(1, Math.min(100, share ?? 0))}%`;
        const diagnosed = findings.get(row, 'diagnose') !== null;
        const replaces = findings.get(row, 'replaces');
        return h(
            'li',
            {},
            sentence(findings.get(row, 'finding')),
            share === null
                ? null
                : h(
                      'div',
                      { class: 'meter' },
                      h('div', { class: 'track', 'aria-hidden': 'true' }, bar),
                      h('span', {}, percent(share), h('span', { class: 'aside' }, diagnosed ? ' of a step' : ' of the GPU\u2019s time')),
                  ),
            diagnosed
                ? h(
                      'p',
                      { class: 'aside' },
                      'Of ',
                      h('code', {}, 'rankscope diagnose'),
                      `, which shows the evidence and what to try${replaces === null ? '' : `; said instead of: ${replaces}`}.`,
                  )
                : null,
        );
    });
    return section(
        'verdict',
        'What to look at first',
        null,
        flight
            ? h(
                  'p',
                  { class: 'alarm' },
                  badge('unfit', flight.verdict.replaceAll('_', ' ')),
                  ' ',
                  sentence(flight.summary),
                  ' ',
                  h('a', { href: '#flight' }, 'Proof'),
              )
            : null,
        list.length ? h('ol', { class: 'findings' }, list) : h('p', { class: 'empty' }, 'Nothing stands out.'),
        noteList(data.answers.summary),
        tiles(data),
    );
}

// ---- the recording ---------------------------------------------------------------------------------------

const SEVERITIES = ['unfit', 'warning', 'note'];

function doctor(answer) {
    const table = answer.tables.findings;
    const groups = new Map();
    for (const row of table.rows) {
        const key = ['severity', 'check', 'finding', 'disables', 'remedy'].map((c) => table.get(row, c));
        const id = JSON.stringify(key);
        if (!groups.has(id)) groups.set(id, { key, ranks: [] });
        groups.get(id).ranks.push(table.get(row, 'rank'));
    }
    const all = [...groups.values()];
    const many = new Set(table.values('rank')).size > 1;
    const bad = all
        .filter(({ key }) => key[0] !== 'ok')
        .sort((a, b) => SEVERITIES.indexOf(a.key[0]) - SEVERITIES.indexOf(b.key[0]) || b.ranks.length - a.ranks.length);
    const good = unique(all.filter(({ key }) => key[0] === 'ok').map(({ key }) => key[2]));
    const headline = answer.found
        ? 'unfit for some of the main analyses'
        : bad.some(({ key }) => key[0] === 'warning')
          ? 'usable, with limits'
          : 'fit';
    const shown = bad.slice(0, 40);
    return {
        headline,
        body: [
            shown.length
                ? h(
                      'div',
                      { class: 'panel' },
                      h(
                          'ul',
                          { class: 'doctor' },
                          shown.map(({ key: [severity, check, finding, disables, remedy], ranks }) =>
                              h(
                                  'li',
                                  {},
                                  badge(severity, severity),
                                  h(
                                      'div',
                                      {},
                                      h(
                                          'p',
                                          {},
                                          h('strong', {}, visible(check)),
                                          ': ',
                                          sentence(finding),
                                          many ? h('span', { class: 'aside' }, ` (${ranksText(ranks)})`) : null,
                                      ),
                                      h(
                                          'p',
                                          { class: 'aside' },
                                          disables ? ['Weakens ', sentence(disables), '. '] : null,
                                          remedy ? ['Remedy: ', h('code', {}, visible(remedy))] : null,
                                      ),
                                  ),
                              ),
                          ),
                      ),
                  )
                : null,
            bad.length > shown.length
                ? h('p', { class: 'cut' }, `${bad.length - shown.length} more: rankscope doctor`)
                : null,
            good.length
                ? h(
                      'details',
                      { class: 'fold' },
                      h('summary', {}, `${good.length === 1 ? 'One check' : `${good.length} checks`} passed`),
                      h(
                          'ul',
                          {},
                          good.map((text) => h('li', {}, sentence(text))),
                      ),
                  )
                : null,
        ],
    };
}

function problems(data) {
    if (!data.problems.length) return null;
    const list = data.problems.map((p) =>
        h(
            'li',
            {},
            badge({ loss: 'unfit', warning: 'warning', note: 'note' }[p.severity], p.severity),
            h(
                'div',
                {},
                h('p', {}, sentence(p.message), p.count > 1 ? ` (${count(p.count)} times)` : ''),
                h(
                    'p',
                    { class: 'aside' },
                    [
                        p.file,
                        p.rank === null ? null : `rank ${p.rank}`,
                        p.offsets.length ? `at byte ${p.offsets.join(', ')}` : null,
                        p.detail,
                    ]
                        .filter(Boolean)
                        .map((part, i) => [i ? ' \u00b7 ' : '', h('bdi', {}, visible(part).slice(0, 600))]),
                ),
            ),
        ),
    );
    return panel(
        'What was wrong with the input',
        null,
        h('ul', { class: 'doctor' }, list.slice(0, 100)),
        list.length > 100
            ? h('p', { class: 'cut' }, `${list.length - 100} more; rankscope info prints all on standard error.`)
            : null,
    );
}

function software(table) {
    const groups = new Map();
    for (const row of table.rows) {
        const key = JSON.stringify([table.get(row, 'item'), table.get(row, 'value')]);
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(table.get(row, 'rank'));
    }
    if (!groups.size) return null;
    const all = new Set(table.values('rank')).size;
    const shown = [...groups].slice(0, 60);
    return h(
        'details',
        { class: 'fold' },
        h('summary', {}, 'What the files say about themselves'),
        h(
            'dl',
            { class: 'pairs' },
            shown.flatMap(([key, ranks]) => {
                const [item, value] = JSON.parse(key);
                return [
                    h('dt', {}, h('bdi', {}, visible(item))),
                    h(
                        'dd',
                        {},
                        name(value),
                        ranks.length < all ? h('span', { class: 'aside' }, ` (${ranksText(ranks)})`) : null,
                    ),
                ];
            }),
        ),
        groups.size > shown.length
            ? h('p', { class: 'cut' }, `${count(groups.size - shown.length)} more: rankscope info --table software`)
            : null,
    );
}

// Columns that say nothing, or of every rank what the head says of all.
function unneeded(table, column) {
    const values = unique(table.values(column));
    if (values.length === 0 || (column === 'lost' && values.length === 1 && values[0] === 0)) return true;
    const told = ['split_by', 'packing', 'device_name', 'backend', 'world_size', 'steps', 'first_step', 'last_step'];
    return values.length === 1 && values[0] !== null && table.length > 1 && told.includes(column);
}

export function recording(data) {
    const { info } = data.answers;
    // a page of some steps or of a window does not judge the whole capture
    const fit = data.answers.doctor ? doctor(data.answers.doctor) : null;
    return section(
        'recording',
        'What was recorded',
        fit ? `This capture is ${fit.headline}.` : 'Only a part of it was asked for; rankscope doctor judges the whole.',
        fit ? fit.body : null,
        problems(data),
        panel(
            'Ranks',
            null,
            makeTable(info.tables.ranks, {
                caption: 'Ranks and their files',
                sort: ['rank', 'ascending'],
                command: 'rankscope info --table ranks',
                hide: info.tables.ranks.columns.map((c) => c.name).filter((c) => unneeded(info.tables.ranks, c)),
            }),
        ),
        software(info.tables.software),
        noteList(info),
        data.answers.doctor ? noteList(data.answers.doctor) : null,
    );
}
