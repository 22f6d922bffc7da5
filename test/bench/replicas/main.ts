import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { numberUpTo } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { quantilesOf } from '../quantiles.ts';
import { startToncache } from '../toncache-process.ts';
import { CASES, type Case } from './cases.ts';
import { closedLoop, type Heard, offerMisses } from './offer-misses.ts';
import { type Member, startBalancer, startMembers } from './pair.ts';

// `npm run bench:replicas`: 100 misses a second to several indexers of 20 workers, of which one fails in many ways; with
// toncache choosing, and with nginx between. Five minutes. `--case hangs` runs those whose name holds the word.

/** How long the load of a case lasts. */
const SECONDS = 11;
const WARM_UP_SECONDS = 2;
const CLOSED_LOOP = { clients: 100, seconds: 5 };

type Between = 'toncache' | 'nginx';

const urlAt = (port: number) => `http://127.0.0.1:${port}`;

exitOnSignals();

const { values } = parseArgs({
  options: { case: { type: 'string', default: '' }, seconds: { type: 'string', default: String(SECONDS) } },
});
const seconds = numberUpTo('--seconds', values.seconds, 60);
console.log(`${describeMachine()}\n`);
const rows: string[][] = [];
for (const one of CASES.filter(({ name }) => name.includes(values.case))) {
  const balanced: readonly Between[] = one.hasBackup ? ['toncache'] : ['toncache', 'nginx'];
  for (const between of balanced) rows.push(await run(one, between));
}
if (rows.length > 0)
  console.log(markdownTable(['Case', 'chosen by', 'right', 'past', 'failed', 'p50 ms', 'p99 ms', 'at each'], rows));
if ('a closed loop'.includes(values.case)) {
  const [both, alone] = [await goodput(2), await goodput(1)];
  console.log(
    `\nA closed loop of ${CLOSED_LOOP.clients} clients: ${both.toFixed(0)} answers a second from two indexers, `,
  );
  console.log(`${alone.toFixed(0)} from one, ${(both / alone).toFixed(2)} times as many.`);
}

async function run(
  { name, members: count = 2, hasBackup, prepare, events = [] }: Case,
  between: Between,
): Promise<string[]> {
  await using started = await startMembers(count);
  const { members, chain } = started;
  await using stack = new AsyncDisposableStack();
  prepare?.(members);
  const ports = members.map(({ port }) => port);
  const urls = ports.map(urlAt);
  const settings: Record<string, string> = hasBackup
    ? { UPSTREAM_URL: urls[0] ?? '', UPSTREAM_BACKUP_URL: urls[1] ?? '', UPSTREAM_BACKUP_API_KEY: 'backup-key' }
    : { UPSTREAM_URL: between === 'nginx' ? urlAt(stack.use(await startBalancer(ports)).port) : urls.join() };
  const toncache = stack.use(await startToncache(settings));
  const { port } = toncache;
  await offerMisses(port, chain, WARM_UP_SECONDS);
  for (const member of members) member.asked = 0;
  const timers = events.map(([second, happens]) => setTimeout(() => void happens(members), second * 1000));
  const heard = await offerMisses(port, chain, seconds);
  for (const timer of timers) clearTimeout(timer);
  return rowOf(name, between, heard, members);
}

async function goodput(count: number): Promise<number> {
  await using started = await startMembers(count);
  const url = started.members.map(({ port }) => urlAt(port)).join();
  await using toncache = await startToncache({ UPSTREAM_URL: url });
  const { port } = toncache;
  await offerMisses(port, started.chain, WARM_UP_SECONDS);
  return await closedLoop(port, started.chain, CLOSED_LOOP.clients, CLOSED_LOOP.seconds);
}

function rowOf(name: string, between: Between, heard: readonly Heard[], members: readonly Member[]): string[] {
  const quantile = quantilesOf(heard.map(({ ms }) => ms));
  const at = (share: number) => quantile(share)?.toFixed(0) ?? '-';
  const said = (what: Heard['said']) => `${heard.filter((each) => each.said === what).length}`;
  const split = members.map(({ asked }) => `${asked}`).join(' + ');
  return [name, between, said('right'), said('past'), said('failed'), at(0.5), at(0.99), split];
}
