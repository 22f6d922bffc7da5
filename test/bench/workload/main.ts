import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { nameOf } from '../../truth/call.ts';
import { Connections } from '../support/connections.ts';
import { describeMachine, markdownTable, quantilesOf } from '../support/report.ts';
import { play } from './clients.ts';
import { chainOfHour, HOUR_MS, SLICE_AT_MS, startIndexerOfHour } from './hour.ts';
import { changesSeen, type HeardAnswer, judge, type Verdict } from './judge.ts';
import { measureScanners } from './scanners.ts';
import { SERVERS, type StartServer } from './servers.ts';
import { sessionsOfHour } from './sessions.ts';

// `npm run bench:workload`: plays the same clients directly, and through nginx, Varnish and toncache, in front of a
// simulated indexer. Five minutes, everything on 127.0.0.1. Needs Linux. An hour is generated, and `--seconds 40` of it
// run in real time: played faster, it would have more requests within a lifetime than in reality. `--only wallet` plays
// the clients of one kind, `--through toncache` measures one server.

const SHOWN_LIES = 3;
/** From the start of the first process to the slice. The clients begin as soon as all processes run; this is the warm-up. */
const BEFORE_SLICE_MS = 18_000;
/** A shorter warm-up is refused: caches fill and Node compiles hot code during it. */
const SHORTEST_WARM_UP_MS = 6000;

const HEAD = [
  'through',
  'requests',
  'at the indexer',
  'pending, adjacent, shards',
  'hit ratio',
  'p50, p99 ms',
  'lies',
  'failed',
  'stale p99 ms',
  'trace change seen p50, p95 ms',
  'block seen p50, p95 ms',
];

exitOnSignals();

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '40' },
    scanners: { type: 'boolean', default: false },
    only: { type: 'string' },
    through: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
if (values.scanners) {
  console.log(`${describeMachine()}; ${seconds} s\n\n${await measureScanners(seconds)}`);
  process.exit();
}
const hour = chainOfHour(0);
hour.advanceTo(HOUR_MS);
const sessions = sessionsOfHour(hour).filter(({ kind }) => values.only === undefined || values.only === kind);
console.log(`${describeMachine()}; ${seconds} s of an hour of ${sessions.length} clients\n`);
const rows: string[][] = [];
for (const [name, start] of Object.entries(SERVERS)) {
  if (values.through === undefined || values.through === name) rows.push([name, ...(await runServer(name, start))]);
}
console.log(markdownTable(HEAD, rows));

/** Plays the slice of the hour through one server, or directly, in front of its own indexer. Returns its cells. */
async function runServer(name: string, start: StartServer | undefined): Promise<string[]> {
  const countedAt = Date.now() + BEFORE_SLICE_MS;
  const untilAt = countedAt + seconds * 1000;
  const startAt = countedAt - SLICE_AT_MS;
  await using indexer = await startIndexerOfHour(startAt);
  await using server = await start?.(indexer.port);
  const connections = new Connections(server?.port ?? indexer.port);
  const chain = chainOfHour(startAt);
  chain.advanceTo(Date.now());
  const fromAt = Date.now();
  if (countedAt - fromAt < SHORTEST_WARM_UP_MS) throw new Error('the machine is too slow: processes start too slowly');

  const answers: HeardAnswer[] = [];
  const texts = new Map<string, string>();
  const heard = (answer: HeardAnswer) => {
    // Equal texts are kept once: most answers are equal, and some have 100 KB.
    const text = texts.get(answer.text) ?? answer.text;
    texts.set(text, text);
    answers.push({ ...answer, text });
  };
  const playing = play(sessions, { connections, chain, startAt, fromAt, untilAt, heard });
  await delay(countedAt - Date.now());
  const before = await indexer.counts();
  await delay(untilAt - Date.now());
  const after = await indexer.counts();
  await playing;
  connections.close();

  const judging = chainOfHour(startAt);
  judging.advanceTo(fromAt);
  const verdicts = judge(answers, judging).filter(({ answer: { sentAt } }) => sentAt >= countedAt && sentAt < untilAt);
  for (const { answer, kind, staleMs } of verdicts.filter((it) => it.kind !== 'right').slice(0, SHOWN_LIES)) {
    const { call, status, text } = answer;
    console.error(`${name}: ${kind}: ${nameOf(call)}: ${status}, untrue for ${staleMs} ms: ${text.slice(0, 80)}`);
  }
  const [total = 0, ...operations] = after.map((count, place) => count - (before[place] ?? 0));
  const count = (kind: Verdict['kind']) => String(verdicts.filter((verdict) => verdict.kind === kind).length);
  const took = quantilesOf(verdicts.map(({ answer }) => answer.receivedAt - answer.sentAt));
  const seen = (['pendingTraces', 'masterchainBlockShards'] as const).map((operation) => {
    const quantile = quantilesOf(changesSeen(verdicts, judging, operation));
    return `${quantile(0.5)}, ${quantile(0.95)}`;
  });
  return [
    String(verdicts.length),
    String(total),
    operations.join(', '),
    `${(100 * Math.max(0, 1 - total / verdicts.length)).toFixed(1)} %`,
    `${took(0.5)}, ${took(0.99)}`,
    count('lie'),
    count('failed'),
    quantilesOf(verdicts.map(({ staleMs }) => staleMs))(0.99),
    ...seen,
  ];
}
