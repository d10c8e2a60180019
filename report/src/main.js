// The page: reads its data, makes the sections, starts theme and charts.
import { trustSection, waitsSection } from './between.js';
import { startCharts } from './charts.js';
import { communicationSection } from './communication.js';
import { comparisonHead, comparisonSection } from './comparison.js';
import { readData } from './data.js';
import { h, visible } from './dom.js';
import { flightSection, metricsSection } from './extras.js';
import { memorySection } from './memory.js';
import { idleSection, kernelsSection, operatorsSection, stepsSection, stragglersSection, timeOfRanks } from './gpu.js';
import { historyHead, historySection } from './history.js';
import { launchesSection, queueSection } from './host.js';
import { head, recording, verdict } from './overview.js';
import { modulesSection } from './modules.js';
import { jobSection } from './picture.js';
import { mfuSection, rooflineSection } from './roofline.js';
import { servingSection } from './serving.js';
import { startTheme } from './theme.js';
import { watchHead, watchSection } from './watch.js';

const SECTIONS = [
    verdict,
    flightSection,
    jobSection,
    timeOfRanks,
    stepsSection,
    servingSection,
    stragglersSection,
    communicationSection,
    waitsSection,
    idleSection,
    kernelsSection,
    operatorsSection,
    modulesSection,
    rooflineSection,
    mfuSection,
    launchesSection,
    queueSection,
    memorySection,
    metricsSection,
    trustSection,
    recording,
];

const SHORT = {
    verdict: 'First',
    flight: 'Flight recorder',
    job: 'Map',
    time: 'Time',
    steps: 'Steps',
    serving: 'Serving',
    stragglers: 'Stragglers',
    communication: 'Communication',
    waits: 'Waiting',
    idle: 'Idle',
    kernels: 'Kernels',
    operators: 'Operators',
    modules: 'Modules',
    roofline: 'Roofline',
    mfu: 'MFU',
    launches: 'Launches',
    queue: 'Queue',
    memory: 'Memory',
    metrics: 'Metrics',
    history: 'History',
    watch: 'Watch',
    comparison: 'Comparison',
    trust: 'Trust',
    recording: 'Recording',
};

function navigation(sections) {
    const links = sections.map((made) =>
        h('a', { href: `#${made.id}`, title: made.querySelector('h2').textContent }, SHORT[made.id]),
    );
    const byId = new Map(sections.map((made, i) => [made.id, links[i]]));
    const seen = new Set();
    const observer = new IntersectionObserver(
        (entries) => {
            for (const entry of entries)
                entry.isIntersecting ? seen.add(entry.target.id) : seen.delete(entry.target.id);
            const current = sections.find((made) => seen.has(made.id));
            for (const [id, link] of byId) {
                if (id === current?.id) link.setAttribute('aria-current', 'true');
                else link.removeAttribute('aria-current');
            }
        },
        { rootMargin: '-64px 0px -60% 0px' },
    );
    for (const made of sections) observer.observe(made);
    return links;
}

function start() {
    startTheme();
    const data = readData(document.getElementById('data'));
    // histories of runs and of watched jobs, and a comparison, are pages of their own
    const [made, top] = data.history
        ? [[historySection], historyHead]
        : data.comparison
          ? [[comparisonSection], comparisonHead]
          : data.watch
            ? [[watchSection], watchHead]
            : [SECTIONS, head];
    const sections = made.map((make) => make(data)).filter(Boolean);
    document.getElementById('head').append(...top(data));
    document.getElementById('sections').append(...navigation(sections));
    document.getElementById('main').append(...sections);
    document.getElementById('foot').append(
        h(
            'p',
            {},
            `Written by rankscope ${data.version} from `,
            data.inputs.map((path, i) => [i ? ', ' : '', h('code', {}, h('bdi', {}, visible(path).slice(0, 300)))]),
            '. Every number is the one that the command of its section prints; move the pointer over a heading of a table for its meaning.',
        ),
    );
    startCharts();
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
