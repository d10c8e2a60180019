// Tables that sort, search, filter by rank and show more rows on demand.
import { h, name, plural, visible } from './dom.js';
import { columnFormat, count, heading } from './format.js';

const PAGE = 12;
const BRIEF = 28; // a column of texts up to this long does not wrap

function compare(a, b, sign) {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // the unknown comes last
    return sign * (typeof a === 'number' ? a - b : a < b ? -1 : a > b ? 1 : 0);
}

function searchText(row) {
    return row
        .map((cell) => (cell === null ? '' : visible(cell)))
        .join('\u0000')
        .toLowerCase();
}

let numbered = 0;

// options: caption; sort: [column, 'ascending' | 'descending']; hide: columns left out; page: rows at first;
// text: how a column's texts are shown; single: no column of ranks where there is one rank only; bar: percent columns with a bar; rank: the one shown at first.
export function makeTable(table, options) {
    const hidden = new Set(options.hide ?? []);
    if (options.single && table.has('rank') && new Set(table.values('rank')).size < 2) hidden.add('rank');
    const columns = table.columns.map((column, at) => ({ ...column, at })).filter((column) => !hidden.has(column.name));
    for (const column of columns) {
        const values = table.rows.map((row) => row[column.at]);
        column.format = columnFormat(column, values);
        column.brief = column.type === 'text' && values.every((v) => v === null || v.length <= BRIEF);
    }
    const page = options.page ?? PAGE;
    const rankAt = table.has('rank') && !hidden.has('rank') ? table.at('rank') : -1;
    const ranks = rankAt < 0 ? [] : [...new Set(table.rows.map((row) => row[rankAt]))].sort((a, b) => a - b);
    const state = {
        sort: options.sort?.[0] ?? null,
        way: options.sort?.[1] ?? 'descending',
        words: [],
        rank: '',
        shown: page,
    };
    if (options.rank !== undefined && table.total > page) state.rank = `${options.rank}`;
    const id = `table-${(numbered += 1)}`;
    const texts = new Map();

    const body = h('tbody');
    const status = h('span', { class: 'count', role: 'status' });
    const buttons = columns.map((column) => {
        const unit = column.format.label ? h('span', { class: 'unit' }, column.format.label) : null;
        return h(
            'button',
            { type: 'button', title: column.help, onclick: () => sortBy(column) },
            h('span', {}, heading(column)),
            unit,
            h('span', { class: 'arrow', 'aria-hidden': 'true' }),
        );
    });
    const heads = columns.map((column, i) =>
        h(
            'th',
            { scope: 'col', class: column.type === 'text' ? 'text' : 'number', 'data-column': column.name },
            buttons[i],
        ),
    );
    const more = h('button', { type: 'button', onclick: () => grow(page * 4) });
    const all = h('button', { type: 'button', onclick: () => grow(Infinity) });

    function sortBy(column) {
        if (state.sort === column.name) state.way = state.way === 'ascending' ? 'descending' : 'ascending';
        else {
            state.sort = column.name;
            state.way = column.type === 'text' || column.unit === 'id' ? 'ascending' : 'descending';
        }
        draw();
    }

    function grow(by) {
        state.shown += by;
        draw();
    }

    function matching() {
        let rows = table.rows;
        if (state.rank !== '') rows = rows.filter((row) => row[rankAt] === Number(state.rank));
        if (state.words.length)
            rows = rows.filter((row) => {
                if (!texts.has(row)) texts.set(row, searchText(row));
                return state.words.every((word) => texts.get(row).includes(word));
            });
        const column = columns.find((c) => c.name === state.sort);
        if (!column) return rows;
        const sign = state.way === 'ascending' ? 1 : -1;
        return rows
            .map((row, i) => [row, i])
            .sort((a, b) => compare(a[0][column.at], b[0][column.at], sign) || a[1] - b[1])
            .map(([row]) => row);
    }

    function cell(row, column, first) {
        const value = row[column.at];
        const tag = first ? 'th' : 'td';
        const scope = first ? 'row' : null;
        if (value === null)
            return h(
                tag,
                { scope, class: column.type === 'text' ? 'text brief unknown' : 'number unknown', 'data-v': '' },
                '\u2013',
            );
        if (column.type === 'text')
            return h(
                tag,
                { scope, class: column.brief ? 'text brief' : 'text' },
                name(options.text?.[column.name]?.(value, row, table) ?? value),
            );
        const made = h(tag, { scope, class: 'number', 'data-v': value }, column.format.text(value));
        if (column.unit === 'percent' && options.bar?.includes(column.name)) {
            made.classList.add('bar');
            made.style.setProperty('--share', `${Math.min(100, Math.max(0, value))}%`);
        }
        return made;
    }

    function draw() {
        const rows = matching();
        const shown = rows.slice(0, state.shown);
        body.replaceChildren(
            ...shown.map((row) =>
                h(
                    'tr',
                    {},
                    columns.map((column, i) => cell(row, column, i === 0)),
                ),
            ),
        );
        columns.forEach((column, i) => {
            if (column.name === state.sort) heads[i].setAttribute('aria-sort', state.way);
            else heads[i].removeAttribute('aria-sort');
        });
        const left = rows.length - shown.length;
        status.textContent =
            rows.length === 0
                ? 'No row matches'
                : left > 0
                  ? `${count(shown.length)} of ${count(rows.length)} rows`
                  : plural(rows.length, 'row').replace(/^\d+/, count(rows.length));
        more.hidden = left <= page * 4;
        all.hidden = left <= 0;
        more.textContent = `Show ${page * 4} more`;
        all.textContent = left > 0 ? `Show all ${count(rows.length)}` : '';
    }

    const search = h('input', {
        type: 'search',
        id: `${id}-search`,
        autocomplete: 'off',
        spellcheck: 'false',
        placeholder: 'Search',
        'aria-label': `Search ${options.caption}`,
        oninput: (event) => {
            state.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
            state.shown = page;
            draw();
        },
    });
    const rank =
        ranks.length > 1 && table.length > ranks.length
            ? h(
                  'select',
                  {
                      'aria-label': `Rank shown in ${options.caption}`,
                      onchange: (event) => {
                          state.rank = event.target.value;
                          state.shown = page;
                          draw();
                      },
                  },
                  h('option', { value: '' }, 'All ranks'),
                  ranks.map((r) => h('option', { value: r, selected: `${r}` === state.rank }, `Rank ${r}`)),
              )
            : null;
    const cut =
        table.length < table.total
            ? h(
                  'p',
                  { class: 'cut' },
                  `This page holds ${count(table.length)} of ${count(table.total)} rows` +
                      `${table.order ? `, those with the largest ${heading(table.columns[table.at(table.order)]).toLowerCase()}` : ''}` +
                      `${options.command ? '; ' : ''}`,
                  options.command ? [h('code', {}, options.command), ' prints all'] : '',
                  '.',
              )
            : null;
    draw();
    return h(
        'div',
        { class: 'table', id },
        table.length > 5 ? h('div', { class: 'tools' }, search, rank, status) : null,
        h(
            'div',
            { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': options.caption },
            h('table', {}, h('caption', { class: 'aside' }, options.caption), h('thead', {}, h('tr', {}, heads)), body),
        ),
        h('div', { class: 'tools' }, more, all),
        cut,
    );
}

// The table of a chart, folded away.
export function foldedTable(table, options) {
    const details = h(
        'details',
        { class: 'fold' },
        h('summary', {}, options.summary ?? ['Table', h('span', { class: 'unseen' }, `: ${options.caption}`)]),
    );
    let made = false;
    details.addEventListener('toggle', () => {
        if (!made && details.open) details.append(makeTable(table, options));
        made = true;
    });
    return details;
}
