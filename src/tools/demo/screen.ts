import type { HeardAnswer } from './client.ts';
import { excerpt } from './difference.ts';

/** The number of answers, of hits among them (fresh or stale), and of requests to the indexer. */
export interface CrowdCounts {
  readonly answers: number;
  readonly hits: number;
  readonly upstream: number;
}

/** Everything that the demo writes: calm lines of text. */
export class Screen {
  readonly #out: NodeJS.WritableStream;

  constructor(out: NodeJS.WritableStream) {
    this.#out = out;
  }

  line(text = ''): void {
    this.#out.write(`${text}\n`);
  }

  heading(text: string): void {
    this.line(`\n${text}\n`);
  }

  /** Names and values, in two columns. */
  table(rows: Readonly<Record<string, string>>): void {
    const width = Math.max(...Object.keys(rows).map((name) => name.length));
    for (const [name, value] of Object.entries(rows)) this.line(`  ${name.padEnd(width)}   ${value}`);
  }

  answer({ status, cacheStatus, tookMs }: HeardAnswer): void {
    const took = `${tookMs.toFixed(tookMs < 10 ? 2 : 1)} ms`.padStart(8);
    this.line(`      ${status}  ${took}   ${cacheStatus}`);
  }

  /** Command lines to paste, under a few words. */
  commands(title: string, lines: readonly string[]): void {
    this.line([title, ...lines].map((line) => `  ${line}\n`).join(''));
  }

  /** The line of one second; saved are the requests since the crowd began that the indexer did not get. */
  second(elapsedMs: number, lately: CrowdCounts, inAll: CrowdCounts): void {
    const seconds = Math.round(elapsedMs / 1000);
    const saved = inAll.answers - inAll.upstream;
    const columns = [
      `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`.padStart(6),
      `${grouped(lately.answers).padStart(5)} requests`,
      `${percent(lately.hits, lately.answers).padStart(7)} hits`,
      `${grouped(lately.upstream).padStart(5)} upstream`,
      `${grouped(saved).padStart(7)} saved in all (${percent(saved, inAll.answers)})`,
    ];
    this.line(columns.join('   '));
  }

  /** A wrong answer, with everything needed to understand it. */
  wrong({ client, url, status, text, cacheStatus, sentAt, receivedAt }: HeardAnswer, reason: string): void {
    this.line(`\n  WRONG ANSWER to ${client}`);
    this.table({
      asked: `${new Date(sentAt).toISOString()}  ${url}`,
      answered: `${receivedAt - sentAt} ms later: ${status} ${excerpt(text)}`,
      'Cache-Status': cacheStatus,
      wrong: reason,
    });
    this.line();
  }

  /** The last words, with the counts of each group of operations; `why` follows "Ended". */
  summary(why: string, groups: Readonly<Record<string, CrowdCounts>>, wrong: number): void {
    this.heading(`Ended ${why}`);
    const lines = Object.entries(groups).map(([name, { answers, hits, upstream }]) => {
      const saved = `${grouped(answers - upstream)} saved (${percent(answers - upstream, answers)})`;
      const counts = `${grouped(answers)} requests, ${percent(hits, answers)} hits, ${grouped(upstream)} upstream`;
      return [name, `${counts}, ${saved}`];
    });
    this.table(Object.fromEntries(lines));
    const verdict = 'Every response was right, checked against the chain.';
    this.line(`  ${wrong === 0 ? verdict : `${grouped(wrong)} responses were wrong.`}\n`);
  }
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}
