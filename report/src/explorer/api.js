// Questions to the server. It may go away: the page then says so and keeps what it has.

export class Refusal extends Error {}

const listeners = [];
let gone = false;

function setGone(value) {
    if (gone === value) return;
    gone = value;
    for (const listener of listeners) listener(gone);
}

export const onGone = (listener) => listeners.push(listener);

export function query(values) {
    const parts = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== '');
    return parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

async function ask(path, options) {
    let answer;
    try {
        answer = await fetch(`api/${path}`, { cache: 'no-store', ...options });
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        setGone(true);
        throw new Refusal('The server does not answer. It runs as long as `rankscope view` does.');
    }
    setGone(false);
    if (!answer.ok) throw new Refusal((await answer.text()).slice(0, 2000) || `The server answers ${answer.status}.`);
    return answer;
}

export const get = async (path, values = {}, signal = undefined) =>
    (await ask(`${path}?${query(values)}`, { signal, headers: { Accept: 'application/json' } })).json();

export const post = async (path, body) =>
    (await ask(path, { method: 'POST', body, headers: { Accept: 'application/json' } })).json();

// {from, to, width, ranks, classes, data}: data by row, column, class.
export async function getMap(values, signal) {
    const bytes = await (
        await ask(`map?${query(values)}`, { signal, headers: { Accept: 'application/octet-stream' } })
    ).arrayBuffer();
    const length = new DataView(bytes).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    const at = 4 + length;
    const data =
        head.bytes === 4 ? new Uint32Array(bytes, at) : Float64Array.from(new BigUint64Array(bytes, at), Number);
    return { ...head, data };
}
