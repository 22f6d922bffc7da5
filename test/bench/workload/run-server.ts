import { setTimeout as delay } from 'node:timers/promises';
import type { ClientAnswer } from '../../../src/tools/demo/client.ts';
import { launch } from '../../support/launch.ts';
import { Connections } from '../overload/connections.ts';
import { play } from './clients.ts';
import { chainOfHour, SLICE_AT_MS } from './hour.ts';
import type { Counts, Listening } from './indexer.ts';
import { changesSeen, judge, type Verdict } from './judge.ts';
import type { StartServer } from './servers.ts';
import type { Session } from './sessions.ts';

/** What the clients of one server had. */
export interface Measured {
  readonly verdicts: readonly Verdict[];
  /** Requests that reached the indexer. */
  readonly upstream: Counts;
  /** See `changesSeen`. */
  readonly tracesSeenMs: readonly number[];
  readonly blocksSeenMs: readonly number[];
}

/** From the start of the first process to the slice. The clients begin as soon as all processes run; this is the warm-up. */
const BEFORE_SLICE_MS = 18_000;
/** A shorter warm-up is refused: caches fill and Node compiles hot code during it. */
const SHORTEST_WARM_UP_MS = 6000;

/** Runs the slice of the hour through one server, or directly, before an indexer of its own. */
export async function runServer(
  start: StartServer | undefined,
  sessions: readonly Session[],
  seconds: number,
  folder: string,
): Promise<Measured> {
  const countedAt = Date.now() + BEFORE_SLICE_MS;
  const untilAt = countedAt + seconds * 1000;
  const startAt = countedAt - SLICE_AT_MS;
  await using indexer = launch(new URL('./indexer.ts', import.meta.url), { args: [String(startAt)] });
  const { url, countsUrl } = await indexer.next((line) => line as Listening);
  const indexerPort = Number(new URL(url).port);
  await using server = await start?.(folder, indexerPort);
  const connections = new Connections(server?.port ?? indexerPort);
  const chain = chainOfHour(startAt);
  const present = () => {
    chain.advanceTo(Date.now());
    return chain;
  };
  present();
  const fromAt = Date.now();
  if (countedAt - fromAt < SHORTEST_WARM_UP_MS) throw new Error('the machine is too slow: processes start too late');

  const answers: ClientAnswer[] = [];
  const texts = new Map<string, string>();
  const heard = (answer: ClientAnswer) => {
    // Keep equal texts once: most answers are equal, and some are 100 KB.
    const text = texts.get(answer.text) ?? answer.text;
    texts.set(text, text);
    answers.push({ ...answer, text });
  };
  const playing = play(sessions, { connections, chain: present, startAt, fromAt, untilAt, heard });
  await delay(countedAt - Date.now());
  const before = await countsAt(countsUrl);
  await delay(untilAt - Date.now());
  const after = await countsAt(countsUrl);
  await playing;
  connections.close();

  const judging = chainOfHour(startAt);
  judging.advanceTo(fromAt);
  const verdicts = judge(answers, judging).filter(({ answer: { sentAt } }) => sentAt >= countedAt && sentAt < untilAt);
  return {
    verdicts,
    upstream: after.map((count, place) => count - (before[place] ?? 0)),
    tracesSeenMs: changesSeen(verdicts, judging, 'message'),
    blocksSeenMs: changesSeen(verdicts, judging, 'block'),
  };
}

async function countsAt(url: string): Promise<Counts> {
  return (await (await fetch(url)).json()) as Counts;
}
