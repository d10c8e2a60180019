// The history of runs: how long a step took in each, and where the level changed.
import { lines } from './charts.js';
import { h, plural, visible } from './dom.js';
import { percent, time } from './format.js';
import { figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';
import { themeButton } from './theme.js';

const brief = (path) => path.replace(/\/+$/, '').split('/').pop() || path;

function sentenceOf(changes) {
    if (!changes.length) return 'The level of the runs did not change.';
    const last = changes.rows[changes.rows.length - 1];
    const ratio = changes.get(last, 'change_pct');
    return [
        `${plural(changes.length, 'change')} of level; the last at `,
        h('bdi', {}, visible(brief(changes.get(last, 'run')))),
        `: ${ratio > 0 ? 'slower' : 'faster'} by ${percent(Math.abs(ratio))}, from ${time(changes.get(last, 'base_us'))} to ${time(changes.get(last, 'new_us'))} a step.`,
    ];
}

function lineChart(history, changes) {
    const at = new Map(changes.rows.map((row) => [changes.get(row, 'place'), row]));
    const values = (column) => history.values(column);
    return lines({
        label: `Line chart: the mean step of each of ${history.length} runs, and the level that it belongs to. ${changes.length} changes.`,
        items: values('run').map((run) => visible(brief(run))),
        unit: 'us',
        axis: 'mean step',
        series: [
            { name: 'run', colour: 'compute', values: values('mean_us'), points: true },
            { name: 'level', colour: 'comm', values: values('level_us'), step: true },
        ],
        extra: (i) => {
            const row = at.get(values('place')[i]);
            const more = [['settled steps', `${values('steps')[i]}`]];
            if (row) more.push(['change here', percent(changes.get(row, 'change_pct'))]);
            return more;
        },
    });
}

export function historyHead(data) {
    const { history } = data.history.tables;
    const title = data.inputs[0];
    document.title = `${visible(brief(title)).slice(0, 120)} \u2013 rankscope history`;
    return [
        h(
            'div',
            { class: 'top' },
            h('span', { class: 'brand' }, 'rankscope history'),
            h('div', { class: 'actions' }, themeButton()),
        ),
        h('h1', {}, h('bdi', {}, visible(brief(title)))),
        h('p', { class: 'facts' }, h('span', {}, plural(history.total, 'run'))),
    ];
}

export function historySection(data) {
    const { history, changes, causes } = data.history.tables;
    const command = (table) => `rankscope regress --history DIR --table ${table}`;
    return section(
        'history',
        'Step time of each run',
        sentenceOf(changes),
        figure(
            'Mean step',
            'settled steps of a run; the line is the level',
            lineChart(history, changes),
            foldedTable(history, { caption: 'Runs', sort: ['place', 'ascending'], command: command('history') }),
        ),
        changes.length
            ? panel(
                  'Changes',
                  null,
                  makeTable(changes, { caption: 'Changes', sort: ['place', 'ascending'], command: command('changes') }),
              )
            : null,
        causes.length
            ? panel(
                  'What the changes are made of',
                  'the parts that changed most',
                  makeTable(causes, {
                      caption: 'Parts of changes',
                      hide: causes.columns.map((c) => c.name).filter((c) => causes.values(c).every((v) => v === null)),
                      command: command('causes'),
                  }),
              )
            : null,
        noteList(data.history),
    );
}
