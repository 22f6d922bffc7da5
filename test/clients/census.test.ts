import { afterAll, beforeAll, expect, test } from 'vitest';
import { operationOf } from '../../src/tools/simulator/operations.ts';
import type { LoggedRequest } from '../../src/tools/simulator/request-log.ts';
import { PATIENCE, stateOf } from '../e2e/followed-world.ts';
import { OwnersWorld } from '../e2e/owners-world.ts';
import { commandsOf, readPage } from '../support/documented-commands.ts';
import type { Asking } from '../support/http-client.ts';
import { CENSUS, type CensusRow, type Fate, filled, SETTINGS } from './census.ts';
import { answerUnknown, valuesOf } from './values.ts';

// Real clocks, because the follower uses them. The fate of a request is read from events: which requests arrived at the
// indexer, and which answers came from memory.

let world: OwnersWorld;

beforeAll(async () => {
  world = await OwnersWorld.open('1.3', SETTINGS, { holdsSteady: true });
  answerUnknown(world.indexer);
});

afterAll(() => world[Symbol.asyncDispose]());

/** The requests of several clients for one row: they differ only in `NOW`. */
interface Requests {
  readonly next: () => string;
  readonly asking: Asking;
}

function requestsFor({ path, body }: CensusRow): Requests {
  const account = world.spareAccount();
  // An account that the indexer does not know has no state that could be proven.
  world.act(account, { kind: 'unconfirmed' });
  const values = valuesOf(world.indexer.chain, account, world.master());
  let now = Date.now();
  const next = () => `/api/v3/${filled(path, { ...values, NOW: String(now++) })}`;
  if (body === undefined) return { next, asking: {} };
  const headers = { 'Content-Type': 'application/json' };
  return { next, asking: { method: 'POST', headers, body: filled(body, values) } };
}

const withoutNow = (target: string) => target.replace(/&_=\d+/, '');

async function detailOf({ next, asking }: Requests): Promise<unknown> {
  return (await world.proxy.reply(next(), asking)).cache['detail'];
}

/** Sends two requests at once, and returns those that arrived at the indexer byte for byte. */
async function sentForTwo({ next, asking }: Requests): Promise<readonly LoggedRequest[]> {
  const sent: LoggedRequest[] = [];
  const note = (request: LoggedRequest) => {
    if (withoutNow(request.target) === withoutNow(next())) sent.push(request);
  };
  world.indexer.requests.on('request', note);
  const gate = world.indexer.hold(operationOf(next()));
  const two = [await world.proxy.sendIn(next(), asking), await world.proxy.sendIn(next(), asking)];
  gate.release();
  const answers = await Promise.all(two.map(({ answer }) => answer));
  world.indexer.requests.off('request', note);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  return sent;
}

/** True if a repetition is a hit of a cached operation, and not of the answers that joined requests keep for 400 ms. */
async function isCached({ next, asking }: Requests): Promise<boolean> {
  const joinedHits = () => world.proxy.metric('toncache_passthrough_collapsible_requests_total', { result: 'hit' });
  const before = await joinedHits();
  const { cache } = await world.proxy.reply(next(), asking);
  return cache['hit'] === true && (await joinedHits()) === before;
}

async function fateOf(requests: Requests): Promise<Fate> {
  const sent = await sentForTwo(requests);
  if (!(await isCached(requests))) return sent.length === 1 ? 'collapsed' : 'passed';
  // This state is loaded later than the row's answer, so that one could have been proven before.
  await world.untilProven(stateOf(world.spareAccount()));
  return (await detailOf(requests)) === 'proven' ? 'proven' : 'cached';
}

test.each(Object.values<CensusRow>(CENSUS))('$client, $use: $fate', async (row) => {
  const requests = requestsFor(row);
  if (row.fate === 'proven') await expect.poll(() => detailOf(requests), PATIENCE).toBe('proven');
  else await expect.poll(() => fateOf(requests), PATIENCE).toBe(row.fate);
});

test('the settings are those of the command in docs/start/your-clients.md', () => {
  const words = Object.entries(SETTINGS).map(([name, value]) => `${name}=${value}`);
  expect(commandsOf(readPage('docs/start/your-clients.md'))[0]).toContain(` ${words.join(' ')} npm start`);
});
