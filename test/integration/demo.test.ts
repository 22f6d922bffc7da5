import { beforeAll, describe, expect, it } from 'vitest';
import { FURTHER } from '../../src/ton/operation-names.ts';
import { OPERATIONS } from '../../src/ton/operations.ts';
import { answer } from '../../src/tools/simulator/answer.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { pastAnswers } from '../../src/tools/simulator/past-answers.ts';
import { SimulatorQuestion } from '../../src/tools/simulator/question.ts';
import { RIGHT, startDemo } from './demo-process.ts';

// With one process; demo.slow.test.ts starts others.

describe('npm run demo -- --for 2s', () => {
  let said = '';

  beforeAll(async () => {
    await using demo = startDemo({ args: ['--for', '2s'] });
    expect((await demo.ended).code, demo.output + demo.errors).toBe(0);
    said = demo.output;
  });

  it('prints its addresses once, and at the end that every answer was right', () => {
    expect(said).toMatch(/^ {2}proxy {5}http:\/\/127\.0\.0\.1:\d+$/m);
    expect(said).toMatch(/^ {2}redis {5}none: memory alone$/m);
    expect(said).toContain('Ended after 2 s');
    expect(said).toContain(RIGHT);
    expect(said.split('\n').filter((line) => /\s$/.test(line))).toEqual([]);
  });

  it('first sends requests of its own: a miss, a hit, and a hit in another spelling', () => {
    const asked =
      /GET (\S+)\n +200 .* toncache; (.*)\n +200 .* toncache; (.*)\n +GET (\S+)\n +200 .* toncache; (.*)\n/g;
    const groups = [...said.slice(0, said.indexOf('Further operations')).matchAll(asked)];
    expect(groups).toHaveLength(3);
    for (const [, target = '', first, second, otherTarget, third] of groups) {
      expect(otherTarget).not.toBe(target);
      expect(first).toBe('fwd=miss; fwd-status=200; stored');
      // On a busy machine a live answer is too old before it can be requested again.
      if (target.includes('pendingTraces')) continue;
      expect(second).toMatch(/^hit; ttl=-?\d+; detail=memory$/);
      expect(third).toMatch(/^hit; ttl=-?\d+; detail=memory$/);
    }
  });

  it('then requests each further operation twice: a miss and a hit', () => {
    const asked = /GET \/api\/v3\/([^?\s]+)\S*\n +200 .* toncache; (.*)\n +200 .* toncache; (.*)\n/g;
    const groups = [...said.slice(said.indexOf('Further operations')).matchAll(asked)];
    // The result of a get-method is kept for no second request before it is proven.
    const shown = FURTHER.filter((name) => OPERATIONS.get(name)?.body === undefined);
    expect(groups.map(([, operation]) => operation).toSorted()).toEqual(shown.toSorted());
    for (const [, operation, first, second] of groups) {
      expect(first).toBe('fwd=miss; fwd-status=200; stored');
      if (operation !== 'masterchainInfo') expect(second).toMatch(/^hit; ttl=-?\d+; detail=memory$/);
    }
  });

  it('counts the operations that are always cached, and the further ones', () => {
    const numbers = String.raw`[\d,]+ requests, (?:[\d.]+ %|-) hits, [\d,]+ upstream, -?[\d,]+ saved \(.*\)$`;
    expect(said).toMatch(new RegExp(`^  the three +${numbers}`, 'm'));
    expect(said).toMatch(new RegExp(`^  further ones +${numbers}`, 'm'));
  });

  it('writes a line a second', () => {
    const numbers = String.raw`\d+ requests +(?:[\d.]+ %|-) hits +\d+ upstream +-?\d+ saved in all \(-?[\d.]+ %\)$`;
    expect(said).toMatch(new RegExp(`^ *0:01 +${numbers}`, 'm'));
    expect(said).toMatch(new RegExp(`^ *0:02 +${numbers}`, 'm'));
  });
});

it('pastAnswers contains an answer that names a block which the chain of the demo has since dropped', () => {
  const [blockMs, historyBlocks] = [400, 10];
  const chain = new Chain({ startAt: 0, blockMs, historyBlocks });
  const asked = { method: 'GET', target: '/api/v3/masterchainInfo', headers: {} };
  chain.advanceTo(2 * historyBlocks * blockMs);
  const { body } = answer(new SimulatorQuestion(asked, { chain, dialect: '1.3' }));
  chain.advanceTo(chain.now + 3 * blockMs);
  expect(pastAnswers(asked, chain, '1.3').filter(({ said }) => said().text === String(body))).toHaveLength(1);
});
