import uPlot from '/uplot.js';

const SHOWN_SECONDS = 300;
const HEIGHT = 160;

// A canvas takes no `light-dark(...)`: an element that has the color says what it comes to.
const probe = document.body.appendChild(document.createElement('span'));
probe.hidden = true;

function color(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** A chart of the last five minutes with a line for each name; its label says the same to those who cannot see it. */
export class Chart {
  #element;
  #names;
  #plot;
  #data;

  constructor(id, names) {
    this.#element = document.getElementById(id);
    this.#names = names;
    this.#data = [[], ...names.map(() => [])];
    const axis = { stroke: () => color('--quiet'), grid: { stroke: () => color('--line') }, size: 46 };
    const options = {
      ...this.#size(),
      series: [{}, ...names.map((label, index) => ({ label, stroke: () => color(`--c${index + 1}`), width: 1.5 }))],
      axes: [axis, axis],
      scales: { y: { range: (_, __, highest) => [0, Math.max(1, highest * 1.1)] } },
    };
    this.#plot = new uPlot(options, this.#data, this.#element);
    new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(this.#element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#plot.redraw());
  }

  /** Adds the values of one instant, epoch seconds; `undefined` leaves a gap. */
  add(at, values) {
    [at, ...values].forEach((value, index) => {
      this.#data[index].push(value ?? null);
    });
    while (at - this.#data[0][0] > SHOWN_SECONDS) for (const column of this.#data) column.shift();
    this.#plot.setData(this.#data);
    const said = this.#names.map((name, index) => `${name} ${Number((values[index] ?? 0).toFixed(1))}`);
    const title = this.#element.previousElementSibling.textContent;
    this.#element.setAttribute('aria-label', `${title}: ${said.join(', ')} now`);
  }

  #size() {
    return { width: Math.max(200, this.#element.clientWidth), height: HEIGHT };
  }
}
