// Elements are made from parts, never from markup: whatever a trace calls its kernels stays text.

// What would turn the direction of the text around it, or not be seen at all, is shown by its number.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function visible(text) {
    return String(text).replace(
        HIDDEN,
        (c) => `\u2039U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}\u203a`,
    );
}

// h('p', {class: 'lede'}, 'text', element, [more]): null and false are left out.
export function h(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

const BRIEF = 140;

function shorten(text) {
    const characters = Array.from(text.length > 4000 ? text.slice(0, 2000) + text.slice(-2000) : text);
    if (characters.length <= BRIEF) return text;
    return `${characters.slice(0, 90).join('')}\u2026${characters.slice(-45).join('')}`;
}

// A name out of a trace: kept apart from the direction of what is around it; a long one is shortened in the
// middle and opens on demand, by mouse or keyboard.
export function name(text) {
    if (text === null || text === undefined) return h('span', { class: 'unknown' }, 'unknown');
    if (text === '') return h('span', { class: 'unknown' }, '(empty)');
    const shown = visible(text);
    if (shown.length <= BRIEF) return h('bdi', { class: 'name' }, shown);
    const full = h('bdi', { class: 'name full' });
    return h(
        'details',
        {
            class: 'long',
            ontoggle: (event) => {
                full.textContent = event.target.open ? shown : '';
            },
        },
        h('summary', { title: 'Show or hide the whole name' }, h('bdi', { class: 'name' }, shorten(shown))),
        full,
    );
}

// Sentences of the program may hold names, too.
export const sentence = (text) => h('bdi', { class: 'sentence' }, visible(text));

export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// 0–3, 7: numbers with runs put together.
export function ranges(numbers) {
    const sorted = [...new Set(numbers)].sort((a, b) => a - b);
    const runs = [];
    for (const n of sorted) {
        const last = runs[runs.length - 1];
        if (last && n === last[1] + 1) last[1] = n;
        else runs.push([n, n]);
    }
    return runs.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}\u2013${b}`)).join(', ');
}

export const ranksText = (numbers) => `${numbers.length === 1 ? 'rank' : 'ranks'} ${ranges(numbers)}`;
