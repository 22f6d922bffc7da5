import uPlot from './uplot.js';

const SHOWN_SECONDS = 300;
const HEIGHT = 150;
const HEIGHT_ON_PHONE = 90;

/** By color: each has that of its part of the flow. */
const OUTCOMES = [
  'hit-memory',
  'hit-proven',
  'stale',
  'hit-redis',
  'miss',
  'collapsed',
  'refused',
  'invalid',
  'failed',
];

const toMebi = (bytes) => bytes / 2 ** 20;
const toMs = (seconds) => (seconds === undefined ? undefined : seconds * 1000);
/** The tops of the axes, times a power of ten: half of each is an equally short number. */
const TOPS = [1, 2, 4, 5, 6, 8, 10];
const TIME = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };

// A canvas does not accept `light-dark(...)`: an element with this color resolves it.
const probe = document.body.appendChild(document.createElement('span'));
probe.hidden = true;

function color(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** 24 h time of an instant in epoch milliseconds. */
const timeOf = (at, withSeconds = false) =>
  new Date(at).toLocaleTimeString('en-GB', withSeconds ? { ...TIME, second: '2-digit' } : TIME);

/** Opens all charts of the page, with their style sheet. Returns a function that adds moments to them. */
export async function openCharts() {
  const style = document.head.appendChild(document.createElement('link'));
  [style.rel, style.href] = ['stylesheet', new URL('uplot.css', import.meta.url).pathname];
  await new Promise((resolve) => style.addEventListener('load', resolve));
  const charts = [
    new Chart('chart-requests', OUTCOMES, ({ rates }) => OUTCOMES.map((outcome) => rates?.[outcome]), {
      isStacked: true,
    }),
    new Chart('chart-latency', ['p50', 'p99'], ({ upstream }) => [upstream.p50Seconds, upstream.p99Seconds].map(toMs)),
    new Chart('chart-slots', ['in use', 'queued'], ({ upstream }) => [upstream.inFlight, upstream.queued]),
    new Chart('chart-memory', ['entries', 'RSS', 'heap'], ({ memory, process }) =>
      [memory.bytes, process.rssBytes, process.heapBytes].map(toMebi),
    ),
  ];
  return (moments) => {
    for (const chart of charts) chart.show(moments);
  };
}

/**
 * A chart of the last five minutes with a line for each name, or with stacked areas. Its legend has the newest values;
 * areas that were always 0 are left out.
 */
class Chart {
  #element;
  #names;
  #valuesOf;
  #isStacked;
  #plot;
  #legend;
  #data;

  /** `valuesOf`: the values of a moment, in the order of the names; `undefined` leaves a gap. */
  constructor(id, names, valuesOf, { isStacked = false } = {}) {
    this.#element = document.getElementById(id);
    this.#names = names;
    this.#valuesOf = valuesOf;
    this.#isStacked = isStacked;
    this.#data = [[], ...names.map(() => [])];
    const grid = { stroke: () => color('--line') };
    const axis = { stroke: () => color('--quiet'), grid };
    const series = names.map((label, index) => {
      const own = () => color(`--c${index + 1}`);
      return isStacked
        ? { label, stroke: own, fill: own, width: 0, points: { show: false } }
        : { label, stroke: own, width: 1.5, points: { show: false } };
    });
    const options = {
      ...this.#size(),
      legend: { show: false },
      cursor: { show: false },
      // The highest area is drawn first, and the lower ones over it.
      series: [{}, ...(isStacked ? series.reverse() : series)],
      axes: [
        {
          ...axis,
          space: 75,
          size: 36,
          values: (_, seconds, __, ___, step) => seconds.map((second) => timeOf(second * 1000, step < 60)),
        },
        {
          ...axis,
          splits: (_, __, least, most) => [least, most / 2, most],
          values: (_, values) => values.map((value) => value.toLocaleString('en')),
          size: widthOf,
        },
      ],
      scales: { y: { range: (_, __, highest) => [0, topAbove(highest)] } },
    };
    this.#plot = new uPlot(options, this.#data, this.#element);
    this.#legend = this.#element.parentElement.appendChild(document.createElement('p'));
    this.#legend.className = 'legend';
    new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(this.#element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#plot.redraw());
  }

  /** Adds moments, and draws. */
  show(moments) {
    for (const moment of moments) {
      [moment.at / 1000, ...this.#valuesOf(moment)].forEach((value, index) => {
        this.#data[index].push(value ?? null);
      });
    }
    while (this.#data[0].at(-1) - this.#data[0][0] > SHOWN_SECONDS) for (const column of this.#data) column.shift();
    const [times, ...columns] = this.#data;
    this.#plot.setData([times, ...(this.#isStacked ? stacked(columns) : columns)]);
    this.#showLegend(columns);
  }

  #showLegend(columns) {
    const newest = columns.map((column) => column.at(-1) ?? undefined);
    const shown = this.#names.flatMap((name, index) =>
      !this.#isStacked || columns[index].some((value) => value > 0)
        ? [{ name, index, value: shortly(newest[index]) }]
        : [],
    );
    this.#legend.replaceChildren(
      ...shown.map(({ name, index, value }) => {
        const entry = document.createElement('span');
        entry.style.setProperty('--mark', `var(--c${index + 1})`);
        entry.textContent = `${name} ${value}`;
        return entry;
      }),
    );
    const title = this.#element.previousElementSibling.textContent;
    const said = shown.map(({ name, value }) => `${name} ${value}`).join(', ') || 'nothing';
    this.#element.setAttribute('role', 'img');
    this.#element.setAttribute('aria-label', `${title}: ${said} now`);
  }

  #size() {
    return {
      width: Math.max(100, this.#element.clientWidth),
      height: innerWidth < 640 ? HEIGHT_ON_PHONE : HEIGHT,
    };
  }
}

/** The width of the left axis, in CSS pixels: that of its widest label, with a gap. */
function widthOf(plot, labels, axis) {
  plot.ctx.font = plot.axes[axis].font[0];
  const widest = Math.max(0, ...(labels ?? []).map((label) => plot.ctx.measureText(label).width));
  return Math.ceil(widest / devicePixelRatio) + 20;
}

function topAbove(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value ?? 0)));
  return power * TOPS.find((top) => top * power >= (value ?? 0));
}

function shortly(value) {
  return value === undefined ? '–' : Number(value.toPrecision(3)).toLocaleString('en');
}

/** Each area with all areas below it, the highest first. */
function stacked(columns) {
  const sums = [];
  let below = columns[0].map(() => 0);
  for (const column of columns) {
    below = column.map((value, index) => (value === null ? null : value + (below[index] ?? 0)));
    sums.unshift(below);
  }
  return sums;
}
