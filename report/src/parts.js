// What sections are built of.
import { h, name, ranges, sentence } from './dom.js';
import { percent, time } from './format.js';

export function section(id, title, lede, ...content) {
    return h(
        'section',
        { id, 'aria-labelledby': `${id}-title` },
        h('h2', { id: `${id}-title` }, title),
        lede ? h('p', { class: 'lede' }, lede) : null,
        ...content,
    );
}

export const figure = (title, aside, ...content) =>
    h(
        'figure',
        {},
        h('figcaption', {}, h('span', { class: 'what' }, title), aside ? h('span', { class: 'aside' }, aside) : null),
        ...content,
    );

export const panel = (title, aside, ...content) =>
    h('div', { class: 'panel' }, h('h3', {}, title), aside ? h('p', { class: 'aside' }, aside) : null, ...content);

// Notes of an analysis; those that differ in the rank only are put together.
export function notes(answer) {
    const groups = new Map();
    for (const note of answer?.notes ?? []) {
        const [, rank, text] = /^rank (-?\d+): (.*)$/s.exec(note) ?? [null, null, note];
        if (!groups.has(text)) groups.set(text, []);
        if (rank !== null) groups.get(text).push(Number(rank));
    }
    return [...groups].map(([text, of]) =>
        of.length ? `${of.length === 1 ? 'Rank' : 'Ranks'} ${ranges(of)}: ${text}` : text,
    );
}

export function noteList(answer) {
    const lines = notes(answer);
    return lines.length
        ? h(
              'ul',
              { class: 'notes' },
              lines.map((line) => h('li', {}, sentence(line))),
          )
        : null;
}

// A section without data says why.
export const empty = (what, answer) => h('div', { class: 'empty' }, h('p', {}, what), noteList(answer));

// Names with a bar each: readable by themselves, no chart needed.
export function barList(rows, caption) {
    return h(
        'ol',
        { class: 'bars', 'aria-label': caption },
        rows.map((row) => {
            const bar = h('span', { class: `fill ${row.kind ?? ''}`, 'aria-hidden': 'true' });
            bar.style.width = `${Math.max(0, Math.min(100, row.share ?? 0))}%`;
            return h(
                'li',
                {},
                h(
                    'div',
                    { class: 'row' },
                    h('div', { class: 'label' }, name(row.name)),
                    h('div', { class: 'value' }, `${time(row.time)} \u00b7 ${percent(row.share)}`),
                ),
                h('div', { class: 'track' }, bar),
                row.aside ? h('div', { class: 'aside' }, row.aside) : null,
            );
        }),
    );
}

export function choice(label, options, onchange) {
    return h(
        'label',
        { class: 'choice' },
        h('span', {}, label),
        h(
            'select',
            { onchange: (event) => onchange(event.target.value) },
            options.map(([value, text]) => h('option', { value }, text)),
        ),
    );
}

export const badge = (kind, text) => h('span', { class: `badge ${kind}` }, text);
