import { styleText } from 'node:util';
import { excerpt } from './check-answer.ts';
import { type HeardAnswer, isHit } from './client.ts';
import type { Score, WrongAnswer } from './score.ts';

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

/** Numbers since the crowd began. */
export interface CrowdCounts {
  readonly answers: number;
  readonly hits: number;
  readonly upstream: number;
}

/** Everything that the demo writes: calm lines of text, with colours only on a terminal. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  #isAfterEmptyLine = false;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  /** A heading with an empty line around it. */
  heading(text: string): void {
    if (!this.#isAfterEmptyLine) this.line();
    this.line(this.#styled('bold', text));
    this.line();
  }

  /** Names and what stands for them, in two columns. */
  table(rows: readonly (readonly [name: string, value: string])[]): void {
    const width = Math.max(...rows.map(([name]) => name.length));
    for (const [name, value] of rows) this.line(`  ${this.#styled('dim', name.padEnd(width))}   ${value}`);
  }

  /** What is asked. */
  request(target: string): void {
    this.line(`  GET ${target}`);
  }

  /** How one answer came. */
  answer(answer: HeardAnswer): void {
    const { status, cacheStatus, tookMs } = answer;
    const took = this.#styled('dim', `${tookMs.toFixed(tookMs < 10 ? 2 : 1)} ms`.padStart(8));
    this.line(`      ${status}  ${took}   ${this.#styled(isHit(answer) ? 'green' : 'yellow', cacheStatus)}`);
  }

  /** Command lines to paste, under a few words. */
  commands(title: string, lines: readonly string[]): void {
    this.line(`  ${this.#styled('dim', title)}`);
    for (const line of lines) this.line(`  ${line}`);
    this.line();
  }

  /** The line of one second; saved are the requests since the crowd began that the indexer did not get. */
  second(elapsedMs: number, before: CrowdCounts, inAll: CrowdCounts): void {
    const answers = inAll.answers - before.answers;
    const hits = inAll.hits - before.hits;
    const upstream = inAll.upstream - before.upstream;
    const seconds = Math.round(elapsedMs / 1000);
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    const columns = [
      this.#styled('dim', clock.padStart(6)),
      `${grouped(answers).padStart(5)} requests`,
      this.#styled('green', `${percent(hits, answers).padStart(7)} hits`),
      `${grouped(upstream).padStart(5)} upstream`,
      `${grouped(inAll.answers - inAll.upstream).padStart(7)} saved in all (${percent(inAll.answers - inAll.upstream, inAll.answers)})`,
    ];
    this.line(columns.join('   '));
  }

  /** A wrong answer, with all that it takes to understand it. */
  wrong({ answer, reason }: WrongAnswer): void {
    const { client, url, status, text, cacheStatus, sentAt, receivedAt } = answer;
    if (!this.#isAfterEmptyLine) this.line();
    this.line(`  ${this.#styled('red', 'WRONG ANSWER')} to ${client}`);
    this.table([
      ['asked', `${new Date(sentAt).toISOString()}  ${url}`],
      ['answered', `${receivedAt - sentAt} ms later: ${status} ${excerpt(text)}`],
      ['Cache-Status', cacheStatus],
      ['wrong', reason],
    ]);
    this.line();
  }

  /** The last words; `why` follows "Ended". */
  summary(why: string, inAll: CrowdCounts, score: Score): void {
    const { answers, hits, upstream } = inAll;
    const saved = answers - upstream;
    this.heading(`Ended ${why}`);
    this.line(
      `  ${grouped(answers)} requests, ${percent(hits, answers)} hits, ${grouped(upstream)} upstream, ${grouped(saved)} saved (${percent(saved, answers)})`,
    );
    const verdict =
      score.wrong === 0
        ? this.#styled('green', 'Every answer was right, checked against the chain.')
        : this.#styled('red', `${grouped(score.wrong)} answers were wrong.`);
    const unchecked =
      score.unchecked === 0 ? '' : ` ${grouped(score.unchecked)} were not checked: this process stood still.`;
    this.line(`  ${verdict}${unchecked}`);
    this.line();
  }

  line(text = ''): void {
    this.#out.write(`${text}\n`);
    this.#isAfterEmptyLine = text === '';
  }

  #styled(style: Style, text: string): string {
    return this.#out.isTTY ? styleText(style, text, { stream: this.#out }) : text;
  }
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}
