import { setTimeout as delay } from 'node:timers/promises';
import { LEVELS } from '../../src/tell/conditions.ts';
import { ask } from '../support/http-client.ts';
import type { Situation } from './scene.ts';
import type { ClientRequest } from './traffic.ts';

/** The page at an instant. */
export interface Look {
  readonly at: number;
  readonly level: (typeof LEVELS)[number];
  readonly says: string;
  /** The name of the worst condition. */
  readonly cause: string | undefined;
  /** The requests of clients that no part of the flow has. */
  readonly lost: number;
}

const OK_AFTER_MS = 65_000;
const MINUTE_MS = 60_000;

/** Looks at the page once a second. */
export class Looks {
  readonly all: Look[] = [];
  #isOver = false;

  constructor(adminUrl: string) {
    void this.#watch(adminUrl);
  }

  end(): void {
    this.#isOver = true;
  }

  /** Resolves at the first look that is true, or after a time. */
  async until(isTrue: (look: Look) => boolean, withinMs: number): Promise<void> {
    const end = performance.now() + withinMs;
    const from = this.all.length;
    while (performance.now() < end && !this.all.slice(from).some(isTrue)) await delay(200);
  }

  async #watch(adminUrl: string): Promise<void> {
    for (; !this.#isOver; await delay(1000)) {
      const answer = await ask(adminUrl, '/status.json').catch(() => undefined);
      if (answer === undefined) continue;
      const { level, says, conditions = [], flow } = JSON.parse(answer.text);
      const parts: number[] = Object.values(flow?.parts ?? {});
      const lost = (flow?.clients ?? 0) - parts.reduce((sum, count) => sum + count, 0);
      this.all.push({ at: performance.now(), level, says, cause: conditions[0]?.name, lost });
    }
  }
}

export interface Ending {
  readonly situation: Pick<Situation, 'level' | 'end'>;
  readonly looks: readonly Look[];
  readonly requests: readonly ClientRequest[];
  readonly brokenAt: number;
  readonly repairedAt: number;
}

/** What the page said from the fault to the end, and what of it was not true. */
export function judged({ situation, looks, requests, brokenAt, repairedAt }: Ending) {
  const { level: wanted, end } = situation;
  const during = looks.filter(({ at }) => at >= brokenAt && at <= repairedAt);
  const worst = Math.max(0, ...during.map(({ level }) => LEVELS.indexOf(level)));
  const right = during.find(({ level }) => LEVELS.indexOf(level) === (wanted ? LEVELS.indexOf(wanted) : worst));
  const lastFailure = Math.max(repairedAt, ...requests.filter(isFailure).map(({ at }) => at));
  const ok = looks.find(({ at, level }) => at > repairedAt && level === 'OK');
  // An indexer that cannot be used fails whoever asks, also while nobody does. Said for a minute longer, as a failure is.
  const couldFail = (at: number) =>
    during.some((look) => isRecent(look.at, at) && look.says.includes('nothing can be answered'));
  const wrong = looks.flatMap((look) => whyWrong(look, couldFail(look.at), requests));
  if (wanted !== undefined && LEVELS[worst] !== wanted) wrong.push(`it was ${LEVELS[worst]}, not ${wanted}`);
  const quietMs = (ok?.at ?? Number.POSITIVE_INFINITY) - lastFailure;
  if (end !== 'none' && quietMs > OK_AFTER_MS) {
    const last = looks.findLast(({ level }) => level !== 'OK');
    wrong.push(`OK ${(quietMs / 1000).toFixed(1)} s after the last failure, before: ${last?.says}`);
  }
  const said = during.findLast(({ level }) => LEVELS.indexOf(level) === worst);
  const [first] = wrong;
  return {
    says: said?.says ?? 'none',
    rightAfterMs: right && right.at - brokenAt,
    okAfterMs: end === 'none' ? undefined : ok && ok.at - repairedAt,
    wrong: first === undefined ? 'true' : `WRONG: ${first}${wrong.length > 1 ? `, and ${wrong.length - 1} more` : ''}`,
    isWrong: wrong.length > 0,
  };
}

const isFailure = ({ got }: ClientRequest) => got === 'failure';

/** True if a state of this instant may still be told. */
const isRecent = (instant: number, at: number) => instant > at - MINUTE_MS - 10_000 && instant <= at;

/** What is not true at one instant. `couldFail`: each request would have failed while the fault lasted, until just now. */
function whyWrong(
  { at, level, says, cause, lost }: Look,
  couldFail: boolean,
  requests: readonly ClientRequest[],
): string[] {
  if (lost !== 0) return [`${lost} requests are in no part of the flow`];
  const failing = [at - 10_000, at - 5000].every((from) => partOf(requests, from, from + 5000) > 0.05);
  if (level === 'OK' && failing) return [`OK while requests fail, at ${(at / 1000).toFixed(0)} s`];
  const hasFailed = requests.some((each) => isRecent(each.at, at) && isFailure(each));
  if (level === 'FAILING' && cause === 'no-answer' && !hasFailed && !couldFail)
    return [`FAILING without a failure (${says})`];
  return [];
}

/** The part of the requests between two instants that failed. The indexer's own failures count if most passed ones have one. */
function partOf(requests: readonly ClientRequest[], from: number, until: number): number {
  const all = requests.filter(({ at, got }) => at > from && at <= until && got !== 'limited');
  const passed = all.filter(({ isPassed }) => isPassed);
  const passedOn = passed.filter(({ got }) => got === 'passed-on').length;
  const failures = all.filter(isFailure).length + (passedOn > passed.length / 2 ? passedOn : 0);
  return failures < 2 ? 0 : failures / all.length;
}
