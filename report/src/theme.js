// Light or dark: as the system says, unless the reader chose. On paper it is always light.
import { h } from './dom.js';

const KEY = 'rankscope-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let printing = false;

function stored() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null; // a page opened from disk may have no storage
    }
}

let choice = ['light', 'dark'].includes(stored()) ? stored() : 'auto';

export const isDark = () => !printing && (choice === 'dark' || (choice === 'auto' && dark.matches));
export const onTheme = (listener) => listeners.push(listener);

function apply() {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    for (const listener of listeners) listener();
}

export function themeButton() {
    const names = { auto: 'as the system', light: 'light', dark: 'dark' };
    const label = h('span', { class: 'label' });
    const button = h(
        'button',
        { type: 'button', class: 'theme', onclick: turn },
        h('span', { 'aria-hidden': 'true' }, '\u25d0'),
        label,
    );
    function show() {
        label.textContent = `Colours: ${names[choice]}`;
    }
    function turn() {
        choice = { auto: isDark() ? 'light' : 'dark', light: 'dark', dark: 'auto' }[choice];
        try {
            if (choice === 'auto') localStorage.removeItem(KEY);
            else localStorage.setItem(KEY, choice);
        } catch {
            // chosen for this visit only
        }
        show();
        apply();
    }
    show();
    return button;
}

export function startTheme() {
    dark.addEventListener('change', apply);
    addEventListener('beforeprint', () => {
        printing = true;
        apply();
    });
    addEventListener('afterprint', () => {
        printing = false;
        apply();
    });
    apply();
}

// Colours of what charts show. Told apart by lightness too, for eyes and printers that see no hue
// (after Okabe and Ito).
const LIGHT = {
    text: '#1d2430',
    muted: '#5b6574',
    line: '#d9dee6',
    surface: '#ffffff',
    compute: '#0b62a8',
    comm: '#e08a00',
    copy: '#3aa17e',
    idle: '#cfd5de',
    hidden: '#f5cf8e',
    host: '#b0407f',
    latency: '#e58fb9',
    other: '#cfd5de',
    accent: '#0b62a8',
    second: '#8fbfe6',
    heat: ['#f4f1fa', '#d4cbec', '#a99bd6', '#7761b5', '#43287f'],
    gap: '#ffffff',
};
const DARK = {
    text: '#e6eaf0',
    muted: '#9aa5b4',
    line: '#303a48',
    surface: '#161c25',
    compute: '#4aa3ea',
    comm: '#f2a93b',
    copy: '#5cc9a2',
    idle: '#3d4857',
    hidden: '#86682f',
    host: '#e27ab4',
    latency: '#8d4a70',
    other: '#3d4857',
    accent: '#4aa3ea',
    second: '#2b5d8a',
    heat: ['#201c33', '#40366e', '#6a5bab', '#a497dc', '#f0ecff'],
    gap: '#161c25',
};
export const colours = () => (isDark() ? DARK : LIGHT);
