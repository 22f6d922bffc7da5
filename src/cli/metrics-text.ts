/** One sample of a metrics page. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads a page in Prometheus' text format 0.0.4; lines that are none are left out. */
export function parseMetrics(page: string): Sample[] {
  return page.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/i.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: parseLabels(labels), value: numberOf(value) }];
  });
}

function parseLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-z_]\w*)="((?:[^"\\]|\\.)*)"/gi)].map(
    ([, name = '', value = '']): [string, string] => [
      name,
      value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
    ],
  );
  return Object.fromEntries(pairs);
}

function numberOf(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'));
}

/** The samples of one instant, to be asked for sums. */
export class MetricsPage {
  readonly #samples: readonly Sample[];

  constructor(page: string) {
    this.#samples = parseMetrics(page);
  }

  /** The sum over the samples that have all of these labels; `undefined` when there is no sample of this name. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const named = this.#samples.filter((sample) => sample.name === name);
    if (named.length === 0) return undefined;
    const matching = named.filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return matching.reduce((sum, { value }) => sum + value, 0);
  }

  /** The values that a label has, in the order of the page. */
  valuesOf(name: string, label: string): string[] {
    const values = this.#samples.filter((sample) => sample.name === name).map(({ labels }) => labels[label] ?? '');
    return [...new Set(values)];
  }
}
