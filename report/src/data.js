// The data that stands in the page, and tables out of it.

export class Table {
    constructor(json, strings) {
        this.columns = json.columns.map(([name, type, unit, title, help]) => ({ name, type, unit, title, help }));
        this.index = new Map(this.columns.map((column, at) => [column.name, at]));
        this.total = json.total;
        this.order = json.order;
        const texts = this.columns.flatMap((column, at) => (column.type === 'text' ? [at] : []));
        this.rows = json.rows;
        for (const row of this.rows) for (const at of texts) if (row[at] !== null) row[at] = strings[row[at]];
    }

    get length() {
        return this.rows.length;
    }

    at(column) {
        const at = this.index.get(column);
        if (at === undefined) throw new Error(`no column ${column}`);
        return at;
    }

    has(column) {
        return this.index.has(column);
    }

    get(row, column) {
        return row[this.at(column)];
    }

    values(column) {
        const at = this.at(column);
        return this.rows.map((row) => row[at]);
    }

    // The row with the largest (sign -1: smallest) known value.
    extreme(column, sign = 1) {
        const at = this.at(column);
        let best = null;
        for (const row of this.rows)
            if (row[at] !== null && (best === null || sign * row[at] > sign * best[at])) best = row;
        return best;
    }

    // The same with these columns first.
    arranged(first) {
        const to = [...first, ...this.columns.map((column) => column.name).filter((column) => !first.includes(column))];
        const from = to.map((column) => this.at(column));
        const made = Object.create(this);
        made.columns = from.map((at) => this.columns[at]);
        made.index = new Map(to.map((column, at) => [column, at]));
        made.rows = this.rows.map((row) => from.map((at) => row[at]));
        return made;
    }

    where(test) {
        const part = Object.create(this);
        part.rows = this.rows.filter(test);
        return part;
    }
}

const tablesOf = (json, strings) =>
    Object.fromEntries(Object.entries(json).map(([name, table]) => [name, new Table(table, strings)]));

export function readData(element) {
    const data = JSON.parse(element.textContent);
    for (const answer of [...Object.values(data.answers), data.flight, data.metrics, data.memory, data.history, data.comparison, data.watch])
        if (answer) answer.tables = tablesOf(answer.tables, data.strings);
    return data;
}
