/** Where a panel is and what it spans. */
export interface PanelOptions {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** The ticks of the horizontal axis, lowest first: it is logarithmic. */
  readonly loads: readonly number[];
  /** The highest value: the vertical axis goes from 0 to a round number above it. */
  readonly highest: number;
  readonly title: string;
}

const MOST_TICKS = 5;

/** A coordinate system with its axes, and lines in it, as SVG elements. */
export class Panel {
  readonly #options: PanelOptions;
  readonly #step: number;
  readonly #ticks: number;

  constructor(options: PanelOptions) {
    this.#options = options;
    this.#step = roundStep(options.highest / MOST_TICKS);
    this.#ticks = Math.ceil(options.highest / this.#step);
  }

  frame(): string[] {
    const { left, top, width, height, loads, title } = this.#options;
    const bottom = top + height;
    const values = Array.from({ length: this.#ticks + 1 }, (_, number) => number * this.#step);
    return [
      text(left, top - 24, title, 'start'),
      ...values.flatMap((value) => [
        `<line class="grid" x1="${left}" x2="${left + width}" y1="${this.#y(value)}" y2="${this.#y(value)}"/>`,
        text(left - 8, this.#y(value) + 4, String(Number(value.toFixed(3))), 'end'),
      ]),
      `<line class="axis" x1="${left}" x2="${left + width}" y1="${bottom}" y2="${bottom}"/>`,
      ...loads.map((load) => text(this.#x(load), bottom + 20, `${load}x`, 'middle')),
    ];
  }

  /** A dashed line at a value, with its name. */
  level(value: number, name: string): string[] {
    const { left, width } = this.#options;
    const y = this.#y(value);
    return [
      `<line class="level" x1="${left}" x2="${left + width}" y1="${y}" y2="${y}"/>`,
      text(left + width, y + 15, `${name} ${value.toFixed(0)}`, 'end', 'small'),
    ];
  }

  /** The line of one mode, with a mark at each point; `points` are load and value. */
  line(mode: number, points: readonly (readonly [load: number, value: number])[]): string {
    const places = points.map(([load, value]) => [this.#x(load), this.#y(value)] as const);
    const marks = places.map(([x, y]) => `<circle class="mark mode${mode}" cx="${x}" cy="${y}" r="4"/>`);
    const line = `<polyline class="line mode${mode}" points="${places.map((place) => place.join(',')).join(' ')}"/>`;
    return [line, ...marks].join('\n');
  }

  #x(load: number): number {
    const { left, width, loads } = this.#options;
    const [lowest = 1, highest = 1] = [loads[0], loads.at(-1)];
    const share = highest === lowest ? 0.5 : Math.log(load / lowest) / Math.log(highest / lowest);
    return rounded(left + share * width);
  }

  #y(value: number): number {
    const { top, height } = this.#options;
    return rounded(top + height * (1 - value / (this.#ticks * this.#step)));
  }
}

/** A line of text at a place. `look` is a class of the style sheet. */
export function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end', look = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x}" y="${y}" text-anchor="${anchor}"${look && ` class="${look}"`}>${escaped}</text>`;
}

/** The next of 1, 2, 2.5, 5 times a power of ten. */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return ([1, 2, 2.5, 5].find((factor) => factor * power >= atLeast) ?? 10) * power;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
