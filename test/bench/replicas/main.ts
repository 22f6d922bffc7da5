import { parseArgs } from 'node:util';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { exitOnSignals } from '../../support/launch.ts';
import { Calls, NO_RATES } from '../overload/calls.ts';
import { Connections } from '../support/connections.ts';
import { Member } from '../support/members.ts';
import { evenly, openLoop } from '../support/open-loop.ts';
import { startNginx } from '../support/other-caches.ts';
import { startToncache } from '../support/processes.ts';
import { describeMachine, markdownTable, quantilesOf } from '../support/report.ts';
import { CASES, type Case } from './cases.ts';

// `npm run bench:replicas`: 100 misses a second to several indexers of 20 workers, one of which fails in many ways;
// toncache chooses between them, or nginx does. Five minutes. `--case hangs` runs the cases whose name contains the
// word, `--seconds 6` each shorter.

const WARM_UP_SECONDS = 2;
/** From the beginning of the load. */
const [BEGINS_MS, ENDS_MS] = [2000, 5000];
const HISTORY_MS = 10 * 60_000;
const PER_SECOND = 100;
const CLOSED_LOOP = { clients: 100, seconds: 5 };
const RATES = { ...NO_RATES, adjacentTransactions: 1, masterchainBlockShards: 1 };
const ENDED_WITHIN_MS = 1900;
/** The age, in blocks, at which every indexer has a block for the whole run, unless it is a minute behind. */
const AGES = { oldest: 100, youngest: 12 };

type Between = 'toncache' | 'nginx';
type Settings = Readonly<Record<string, string>>;

/** `past`: the answer is empty although there is something. */
type Said = 'right' | 'past' | 'failed';

exitOnSignals();

const { values } = parseArgs({
  options: { case: { type: 'string', default: '' }, seconds: { type: 'string', default: '11' } },
});
const seconds = Number(values.seconds);
console.log(`${describeMachine()}\n`);
const rows: string[][] = [];
for (const one of CASES.filter(({ name }) => name.includes(values.case))) {
  const balanced: readonly Between[] = one.hasBackup ? ['toncache'] : ['toncache', 'nginx'];
  for (const between of balanced) rows.push(await run(one, between));
}
console.log(markdownTable(['Case', 'chosen by', 'right', 'past', 'failed', 'p50 ms', 'p99 ms', 'at each'], rows));
if ('a closed loop'.includes(values.case)) {
  const [both, alone] = [await goodput(2), await goodput(1)];
  console.log(`
A closed loop of ${CLOSED_LOOP.clients} clients: ${both.toFixed(0)} answers a second from two indexers,
${alone.toFixed(0)} from one, ${(both / alone).toFixed(2)} times as many.`);
}

async function run({ name, members: count = 2, hasBackup, asks, prepare, begin, end }: Case, between: Between) {
  await using stack = new AsyncDisposableStack();
  const asking = asks === 'ended traces' ? askingForTraces : askingOnce;
  const { members, ask } = await startMembers(count, stack, asking, async (started) => {
    prepare?.(started);
    const urls = started.map(({ url }) => url);
    const [main = '', backup = ''] = urls;
    if (hasBackup) return { UPSTREAM_URL: main, UPSTREAM_BACKUP_URL: backup, UPSTREAM_BACKUP_API_KEY: 'backup-key' };
    if (between === 'toncache') return { UPSTREAM_URL: urls.join() };
    return { UPSTREAM_URL: `http://127.0.0.1:${stack.use(await startBalancer(started)).port}` };
  });
  const [first] = members;
  const beginning = setTimeout(() => void (first && begin?.(first, members)), BEGINS_MS);
  const ending = setTimeout(() => void (first && end?.(first)), ENDS_MS);
  const heard = await openLoop(evenly(PER_SECOND, seconds), async ({ dueMs }, startedAt) => {
    const said = await ask();
    return { ms: performance.now() - startedAt - dueMs, said };
  });
  for (const timer of [beginning, ending]) clearTimeout(timer);
  const quantile = quantilesOf(heard.map(({ ms }) => ms));
  const saids = (['right', 'past', 'failed'] as const).map((what) => heard.filter(({ said }) => said === what).length);
  const askedEach = members.map(({ asked }) => asked).join(' + ');
  return [name, between, ...saids.map(String), quantile(0.5), quantile(0.99), askedEach];
}

/** Clients of a closed loop: right answers a second. */
async function goodput(count: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const { ask } = await startMembers(count, stack, askingOnce, (started) => ({
    UPSTREAM_URL: started.map(({ url }) => url).join(),
  }));
  const endsAt = performance.now() + CLOSED_LOOP.seconds * 1000;
  let right = 0;
  const client = async () => {
    while (performance.now() < endsAt) if ((await ask()) === 'right' && performance.now() < endsAt) right++;
  };
  await Promise.all(Array.from({ length: CLOSED_LOOP.clients }, client));
  return right / CLOSED_LOOP.seconds;
}

/** Starts this many equal indexers, and a toncache with these settings; `ask` sends a request to it once it is warm. */
async function startMembers(
  count: number,
  stack: AsyncDisposableStack,
  asking: (port: number, chain: Chain) => () => Promise<Said>,
  settingsFor: (members: readonly Member[]) => Settings | Promise<Settings>,
) {
  const chain = { startAt: Date.now() - HISTORY_MS, messagesPerBlock: 10, historyBlocks: 10_000 };
  const members = await Promise.all(Array.from({ length: count }, () => Member.start(chain)));
  for (const member of members) stack.use(member);
  const ask = asking(stack.use(await startToncache(await settingsFor(members))).port, new Chain(chain));
  await openLoop(evenly(PER_SECOND, WARM_UP_SECONDS), ask);
  for (const member of members) member.asked = 0;
  return { members, ask };
}

/** Requests neighbours of transactions and pages of blocks of the last minute, each once. */
function askingOnce(port: number, chain: Chain): () => Promise<Said> {
  chain.advanceTo(Date.now());
  const connections = new Connections(port);
  const calls = new Calls(chain, new SeededRandom('replicas'), AGES);
  return async () => {
    const call = calls.next(RATES);
    const { status, body } = await connections.ask(call.target);
    if (status !== 200 && status !== 404) return 'failed';
    return body.includes(call.says) ? 'right' : 'past';
  };
}

/** Polls for traces that have ended a moment ago: an answer that lists one shows it again. */
function askingForTraces(port: number, chain: Chain): () => Promise<Said> {
  const connections = new Connections(port);
  const random = new SeededRandom('ended traces');
  return async () => {
    const now = Date.now();
    chain.advanceTo(now);
    const ended = chain.recentTraces().filter(({ goneAt }) => goneAt < now && goneAt > now - ENDED_WITHIN_MS);
    const hash = encodeURIComponent(random.pick(ended).externalHash);
    const { status, body } = await connections.ask(`/api/v3/pendingTraces?ext_msg_hash=${hash}`);
    if (status !== 200) return 'failed';
    return body.includes('"traces":[]') ? 'right' : 'past';
  };
}

/** nginx as operators put it in between: `least_conn`, and the next indexer after a failure. */
function startBalancer(members: readonly { readonly port: number }[]) {
  const servers = members.map((each) => `server 127.0.0.1:${each.port};`).join(' ');
  return startNginx(
    (port) => `  proxy_connect_timeout 1s; proxy_read_timeout 5s;
  proxy_next_upstream error timeout http_500 http_502 http_503 http_504 http_429;
  upstream indexers { least_conn; ${servers} keepalive 64; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://indexers; } }`,
  );
}
