import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { rulesOf } from '../../../src/ton/explain-call.ts';
import { type Finality, finalityOf } from '../../../src/ton/finality.ts';
import { finalityAtAge } from '../../../src/ton/lifetime.ts';
import { type AnswerClass, ROWS } from '../../../src/ton/lifetime-table.ts';
import { OPERATION_NAMES, type OperationName } from '../../../src/ton/operation-names.ts';
import { OPERATIONS, targetOf } from '../../../src/ton/operations.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { differenceFrom } from '../../../src/tools/demo/difference.ts';
import { answer } from '../../../src/tools/simulator/answer.ts';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../../src/tools/simulator/dialect.ts';
import { pastAnswers, type Said } from '../../../src/tools/simulator/past-answers.ts';
import { SimulatorQuestion } from '../../../src/tools/simulator/question.ts';
import { ACCOUNT, callOf, EXAMPLES, HASH_HEX } from './requests.ts';

const [START, SECOND, SECONDS] = [Date.UTC(2026, 0, 1), 1000, 60];
const END = START + SECONDS * SECOND;
const OWNERS = 3;
const DIALECTS: readonly Dialect[] = ['spec', '1.2', '1.3'];

/**
 * A minute in which traces take seconds, blocks come out of order, messages are accepted again, and actions follow later.
 * Actions are not computed again: an answer that is called final may miss that.
 */
function aMinute(): Chain {
  const chain = new Chain({
    startAt: START,
    delayedShare: 0.5,
    invalidatedShare: 0.1,
    classifierDelayMs: 1500,
    listsUnderWay: true,
    jettons: { owners: OWNERS, everyMs: 2 * SECOND },
  });
  for (const later of [20, 45, 70, 100]) chain.delay(chain.headSeqno + later, 3 * SECOND);
  chain.advanceTo(START + 20 * SECOND);
  for (const { externalHash } of chain.recentTraces(3)) chain.acceptAgain(externalHash, START + 40 * SECOND);
  chain.advanceTo(END);
  return chain;
}

const CHAIN = aMinute();
/** The traces that lasted longest, those whose message was accepted again, and some others. */
const TRACES = CHAIN.recentTraces()
  .filter(({ emulatedAt }) => emulatedAt < START + 45 * SECOND)
  .toSorted((one, other) => other.goneAt - other.emulatedAt - (one.goneAt - one.emulatedAt))
  .filter(
    ({ externalHash, invalidated }, place) => place < 4 || invalidated || CHAIN.receivers(externalHash).length > 1,
  )
  .slice(0, 9);
const SEQNOS = [10, 20, 21, 24, 45, 70].map((after) => CHAIN.clock.firstSeqno + after);

/** Values for the placeholders in the examples: all that the indexer names. */
const HASHES = [
  ...TRACES.flatMap(({ externalHash, transactions }) => [
    externalHash,
    ...transactions.slice(0, 4).flatMap(({ hash, messageHash = hash }) => [hash, messageHash]),
  ]),
  ...SEQNOS.slice(0, 2).flatMap((seqno) =>
    said(`/api/v3/blocks?mc_seqno=${seqno}`, '1.3', END).text.match(/(?<=_hash":")[^"]{44}(?=")/g),
  ),
].map((hash) => Buffer.from(hash ?? '', 'base64').toString('hex'));
const ACCOUNTS = [
  CHAIN.accounts.elector.address,
  ...TRACES.slice(0, 3).flatMap(({ transactions }) => transactions.slice(0, 2).map(({ account }) => account.address)),
  ...[...CHAIN.jettons.masters.slice(0, 1), ...CHAIN.jettons.owners].map(({ address }) => address),
];

function said(target: string, dialect: Dialect, instant: number, headers: Record<string, string> = {}): Said {
  const { status, body } = answer(
    new SimulatorQuestion({ method: 'GET', target, headers }, { chain: CHAIN, dialect, instant }),
  );
  return { status, text: String(body) };
}

/** The requests of an operation: its examples, about what is in the chain. */
function callsTo(name: OperationName): readonly Call[] {
  const placed = EXAMPLES[name].queries.flatMap((query) => {
    if (query.includes(HASH_HEX)) return HASHES.map((hash) => query.replace(HASH_HEX, hash));
    if (query.includes(ACCOUNT)) return ACCOUNTS.map((account) => query.replace(ACCOUNT, account));
    return SEQNOS.map((seqno) => query.replace(/seqno=7\b/, `seqno=${seqno}`));
  });
  return [...new Set(placed)].map((query) => callOf(name, query));
}

/** The answers to a request, at the instants when they change and in between, the oldest first. */
function answersTo({ operation, request }: Call, dialect: Dialect) {
  const target = targetOf(operation.name, request.query);
  const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const changes = pastAnswers({ method: 'GET', target, headers }, CHAIN, dialect).map(({ fromAt }) => fromAt);
  const between = Array.from({ length: SECONDS / 3 }, (_, n) => START + 3 * n * SECOND);
  const instants = [...new Set([...between, ...changes, END])].filter((at) => at >= START && at <= END);
  return instants.toSorted((a, b) => a - b).map((at) => ({ at, said: said(target, dialect, at, headers) }));
}

/** The body of an answer without names, which change at any time. */
function bodyOf({ text }: Said): unknown {
  return JSON.parse(text, (key, value) => (key === 'address_book' || key === 'metadata' ? undefined : value));
}

/** True if a body shows all that an earlier one showed: it may have more rows and actions, and states that were missing. */
function showsAllOf(earlier: unknown, later: unknown): boolean {
  if (earlier === null || isDeepStrictEqual(earlier, later)) return true;
  if (Array.isArray(earlier)) {
    return Array.isArray(later) && earlier.every((row) => later.some((other) => showsAllOf(row, other)));
  }
  if (typeof earlier !== 'object' || typeof later !== 'object' || later === null) return false;
  return Object.entries(earlier).every(([name, value]) => showsAllOf(value, Reflect.get(later, name)));
}

const STILL_TRUE: Partial<Record<AnswerClass, (earlier: unknown, later: unknown) => boolean>> = {
  final: isDeepStrictEqual,
  'final-page': isDeepStrictEqual,
  growing: showsAllOf,
};

/** An answer of the chain, and the rule that it falls under at its instant. */
interface Judged {
  readonly at: number;
  readonly said: Said;
  readonly read: Finality;
  readonly rule: Finality['rule'];
}

/** The answers to a request, each with its rule, up to the first one with a rule that is wrong: `wrong` tells why. */
function judge(call: Call, dialect: Dialect): { readonly judged: readonly Judged[]; readonly wrong?: string } {
  const asked = `${targetOf(call.operation.name, call.request.query)} of indexer ${dialect}`;
  const judged: Judged[] = [];
  for (const { at, said } of answersTo(call, dialect)) {
    if (said.status !== 200 && said.status !== 404) continue;
    const [before, when] = [judged.at(-1), `at ${(at - START) / SECOND} s`];
    const isSame = before?.said.status === said.status && before.said.text === said.text;
    const promised = isSame
      ? undefined
      : judged.findLast(({ rule }) => STILL_TRUE[ROWS[rule].answerClass] !== undefined);
    if (promised !== undefined && !staysTrue(promised, said)) {
      const rule = `${promised.rule} (${ROWS[promised.rule].answerClass}) at ${(promised.at - START) / SECOND} s`;
      return { judged, wrong: `${asked}: ${rule}, but ${when} ${differenceFrom(promised.said, said)}` };
    }
    const read = isSame ? before.read : finalityOf(call, said.status, JSON.parse(said.text));
    if (read === undefined) return { judged, wrong: `${asked}: not taken for an answer ${when}: ${said.text}` };
    const { rule } = finalityAtAge(read, { askedAt: at, receivedAt: at, chainAt: at, ageValueSeconds: 0 });
    if (rule !== 'notKept' && !rulesOf(call).includes(rule)) {
      return { judged, wrong: `${asked}: ${rule} ${when}, which its lifetimeRules do not name` };
    }
    judged.push({ at, said, read, rule });
  }
  return { judged };
}

function staysTrue({ rule, said }: Judged, later: Said): boolean {
  const isTrueStill = STILL_TRUE[ROWS[rule].answerClass];
  return isTrueStill === undefined || (said.status === later.status && isTrueStill(bodyOf(said), bodyOf(later)));
}

// A result of a get-method has no lifetime.
const BY_GET = OPERATION_NAMES.filter((name) => OPERATIONS.get(name)?.body === undefined);

test.each(BY_GET)('an answer to %s that is final never changes, and one that is growing only gains', (name) => {
  const calls = callsTo(name);
  const results = calls.flatMap((call) => DIALECTS.map((dialect) => judge(call, dialect)));
  expect(results.flatMap(({ wrong }) => wrong ?? []).slice(0, 3)).toEqual([]);
  const seen = new Set(results.flatMap(({ judged }) => judged.map(({ rule }) => rule)));
  const final = calls.flatMap(rulesOf).filter((rule) => ROWS[rule].answerClass.startsWith('final'));
  const unseen = [...new Set(final).difference(seen)];
  expect(unseen, `no answer to the examples of ${name} in requests.ts falls under these final rules`).toEqual([]);
  const changing = results.filter(({ judged }) => new Set(judged.map(({ said }) => said.text)).size > 1);
  const still = `the simulated indexer never changes an answer to ${name}, so this test finds nothing`;
  expect(changing.length, still).toBeGreaterThan(0);
  seen.delete('notFound');
  expect(seen.size, `the simulated indexer answers no example of ${name} in requests.ts`).toBeGreaterThan(0);
});
