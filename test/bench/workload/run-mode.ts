import { setTimeout as delay } from 'node:timers/promises';
import type { ClientAnswer } from '../../../src/demo/client.ts';
import { launch } from '../launch.ts';
import { Connections } from '../overload/connections.ts';
import { ENDS_WITH_PARENT } from '../overload/ends-with-parent.ts';
import { play } from './clients.ts';
import { chainOfHour, SLICE_AT_MS } from './hour.ts';
import type { Counts, Listening } from './indexer.ts';
import { judge, type Verdict } from './judge.ts';
import { type ModeName, type ModeSetting, startMode } from './modes.ts';
import type { Session } from './sessions.ts';
import { sightsOf } from './sights.ts';

/** One mode, measured. */
export interface Measured {
  readonly verdicts: readonly Verdict[];
  readonly upstream: Counts;
  /** See `sightsOf`. */
  readonly seen: { readonly traces: readonly number[]; readonly blocks: readonly number[] };
}

/** From the start of the first process to the slice. The clients begin as soon as all processes run; this is the warm-up. */
const BEFORE_SLICE_MS = 18_000;
/** A shorter warm-up is refused: caches fill and Node compiles hot code during it. */
const SHORTEST_WARM_UP_MS = 6000;

/** Runs the slice of the hour through one mode, before an indexer of its own. */
export async function runMode(
  mode: ModeName,
  sessions: readonly Session[],
  seconds: number,
  setting: Omit<ModeSetting, 'indexerPort'>,
): Promise<Measured> {
  const countedAt = Date.now() + BEFORE_SLICE_MS;
  const untilAt = countedAt + seconds * 1000;
  const startAt = countedAt - SLICE_AT_MS;
  const program = new URL('./indexer.ts', import.meta.url);
  await using indexer = launch(program, { args: [String(startAt)], nodeArgs: ENDS_WITH_PARENT });
  const { url, countsUrl } = await indexer.next((line) => line as Listening);
  await using running = await startMode(mode, { ...setting, indexerPort: Number(new URL(url).port) });
  const connections = new Connections(running.port);
  const chain = chainOfHour(startAt);
  const present = () => {
    chain.advanceTo(Date.now());
    return chain;
  };
  present();
  const fromAt = Date.now();
  if (countedAt - fromAt < SHORTEST_WARM_UP_MS)
    throw new Error('the machine is too slow: the processes start too late');

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
  const verdicts = judge(answers, judging);
  const counted = verdicts.filter(({ answer: { sentAt } }) => sentAt >= countedAt && sentAt < untilAt);
  return {
    verdicts: counted,
    upstream: difference(after, before),
    seen: {
      traces: sightsOf(counted, judging, 'message'),
      blocks: sightsOf(counted, judging, 'block'),
    },
  };
}

async function countsAt(url: string): Promise<Counts> {
  return (await (await fetch(url)).json()) as Counts;
}

function difference(after: Counts, before: Counts): Counts {
  return {
    pendingTraces: after.pendingTraces - before.pendingTraces,
    adjacentTransactions: after.adjacentTransactions - before.adjacentTransactions,
    masterchainBlockShards: after.masterchainBlockShards - before.masterchainBlockShards,
    total: after.total - before.total,
  };
}
