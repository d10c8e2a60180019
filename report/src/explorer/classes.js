// Colours and names of what is drawn. They differ in lightness, too.
import { isDark } from '../theme.js';

export const LABELS = {
    compute: 'Computation',
    operators: 'Operators',
    exposed_comm: 'Exposed communication',
    exposed_wait: 'Waiting for other ranks',
    exposed_copy: 'Exposed copies',
    other_work: 'Other GPU work',
    exposed_sync: 'Host waits for the device',
    loading: 'Data loading',
    idle: 'Idle',
    other: 'Outside operators',
};

const MAP = {
    light: {
        compute: '#1f68ad', operators: '#1f68ad', exposed_comm: '#e8912a', exposed_wait: '#f8dca8', exposed_copy: '#59b894', other_work: '#8a79c4',
        exposed_sync: '#cf7fb0', loading: '#b3261e', idle: '#dde2ea', other: '#dde2ea',
    },
    dark: {
        compute: '#3f93dd', operators: '#3f93dd', exposed_comm: '#e8a23a', exposed_wait: '#7a5c2c', exposed_copy: '#5cc9a2', other_work: '#9a8be0',
        exposed_sync: '#c66aa0', loading: '#ff6b5f', idle: '#2a3341', other: '#2a3341',
    },
};
const LANES = {
    light: {
        computation: '#8fbfe6', communication: '#f5c47e', memory: '#a5dcc4', other: '#d9dee6', operator: '#bcd7ef',
        annotation: '#e6dcf4', python: '#e9edf2', call: '#f0cfe1', gpu_annotation: '#e6dcf4', host: '#e3e7ed',
    },
    dark: {
        computation: '#2f6aa0', communication: '#94621a', memory: '#2c7a5e', other: '#3d4857', operator: '#28527a',
        annotation: '#463c66', python: '#2c3644', call: '#6d3c58', gpu_annotation: '#463c66', host: '#333d4b',
    },
};

export const colourOf = (name) => MAP[isDark() ? 'dark' : 'light'][name] ?? '#888888';
export const laneColour = (name) => LANES[isDark() ? 'dark' : 'light'][name] ?? '#888888';

const rgb = new Map();
// [r, g, b] of "#rrggbb".
export function parts(colour) {
    if (!rgb.has(colour)) rgb.set(colour, [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
    return rgb.get(colour);
}
