// What is seen, in the fragment of the address: a link reproduces it, and Back undoes.

const NUMBERS = ['from', 'to', 'rank', 'event', 'whatif', 'selFrom', 'selTo', 'cursor', 'heldRank'];
const TEXTS = ['selRanks', 'panel', 'edit', 'q', 'path', 'below', 'order', 'heldOn', 'heldBy', 'heldAt'];

export function parse(fragment) {
    const values = new URLSearchParams(fragment.replace(/^#/, ''));
    const state = {};
    for (const name of NUMBERS) {
        const text = values.get(name);
        state[name] = text !== null && /^-?\d{1,16}$/.test(text) ? Number(text) : null;
    }
    for (const name of TEXTS) state[name] = values.get(name);
    return state;
}

export function print(state) {
    const values = new URLSearchParams();
    for (const name of [...NUMBERS, ...TEXTS])
        if (state[name] !== null && state[name] !== undefined && state[name] !== '')
            values.set(name, typeof state[name] === 'number' ? Math.round(state[name]) : state[name]);
    return `#${values}`;
}

export class Store {
    constructor() {
        this.state = parse(location.hash);
        this.listeners = [];
        this.timer = 0;
        addEventListener('popstate', () => this.show(parse(location.hash)));
        addEventListener('hashchange', () => this.show(parse(location.hash)));
    }

    show(state) {
        if (print(state) === print(this.state)) return;
        const before = this.state;
        this.state = state;
        for (const listener of this.listeners) listener(this.state, before);
    }

    onChange(listener) {
        this.listeners.push(listener);
    }

    // A move that Back undoes. Moves that follow each other quickly (a wheel, a key held) are one.
    move(changes) {
        const next = { ...this.state, ...changes };
        const text = print(next);
        if (text === print(this.state)) return;
        if (this.timer) history.replaceState(null, '', text);
        else history.pushState(null, '', text);
        clearTimeout(this.timer);
        const quick = 'from' in changes || 'cursor' in changes;
        this.timer = quick ? setTimeout(() => { this.timer = 0; }, 600) : 0;
        this.show(next);
    }
}
