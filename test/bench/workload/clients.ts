import { setTimeout as delay } from 'node:timers/promises';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { type Call, writeLegibly } from '../../truth/call.ts';
import type { Connections } from '../support/connections.ts';
import type { HeardAnswer } from './judge.ts';
import type { Session } from './sessions.ts';

/** The part of the hour that is played, and the server. Instants are epoch ms. */
export interface Scene {
  readonly connections: Connections;
  /** The chain when the part begins: scanners begin at its head. */
  readonly chain: Chain;
  /** The beginning of the hour. */
  readonly startAt: number;
  readonly fromAt: number;
  readonly untilAt: number;
  /** Called with every answer. */
  readonly heard: (answer: HeardAnswer) => void;
}

/** A client gives up on an answer after this time. */
const PATIENCE_MS = 10_000;
/** Most explorers show both neighbours, so they leave the direction out. */
const DIRECTIONS = [{}, {}, { direction: 'in' }, { direction: 'out' }] as const;

/** Plays all sessions that overlap the scene, each at its time. Resolves when the last one has ended. */
export async function play(sessions: readonly Session[], scene: Scene): Promise<void> {
  const from = scene.fromAt - scene.startAt;
  const shown = sessions.filter(({ startMs, endMs }) => startMs < scene.untilAt - scene.startAt && endMs > from);
  await Promise.all(
    shown.map(async (session) => {
      const { startMs, everyMs } = session;
      // Sessions that began before the scene resume at different moments, not all at once.
      const resumedMs = from + ((((startMs * 7919) % everyMs) + everyMs) % everyMs);
      await delay(Math.max(0, scene.startAt + (startMs >= from ? startMs : resumedMs) - Date.now()));
      await playSession(session, scene);
    }),
  );
}

async function playSession(session: Session, scene: Scene): Promise<void> {
  const endAt = Math.min(scene.untilAt, scene.startAt + session.endMs);
  const poll = async (call: Call, isEnough: (answer: HeardAnswer) => boolean) => {
    while (Date.now() < endAt) {
      const nextAt = Date.now() + session.everyMs;
      if (isEnough(await ask(call, session, scene))) return;
      await delay(Math.max(0, nextAt - Date.now()));
    }
  };
  switch (session.kind) {
    case 'wallet': {
      // A trace that was pending and is no longer listed is final.
      let wasSeen = false;
      return await poll({ operation: 'pendingTraces', hashes: [session.externalHash] }, ({ status, text }) => {
        const isThere = status === 200 && !/"traces":(?:\[\]|null)/.test(text);
        const isOver = wasSeen && status === 200 && !isThere;
        wasSeen ||= isThere;
        return isOver;
      });
    }
    case 'watcher':
      return await poll({ operation: 'pendingTraces', accounts: [session.account] }, () => false);
    case 'explorer': {
      const random = new SeededRandom('walk', session.seed);
      let { hash } = session;
      for (let click = 0; click < session.clicks && Date.now() < endAt; click++) {
        const call: Call = { operation: 'adjacentTransactions', hashes: [hash], ...random.pick(DIRECTIONS) };
        const { status, text } = await ask(call, session, scene);
        if (status !== 200) return;
        const { transactions }: { transactions: readonly { readonly hash: string }[] } = JSON.parse(text);
        hash = random.pick(transactions).hash;
        await delay(session.everyMs);
      }
      return;
    }
    case 'scanner':
      for (let seqno = scene.chain.headSeqno; Date.now() < endAt; ) {
        const { status } = await ask({ operation: 'masterchainBlockShards', seqno, limit: 100 }, session, scene);
        if (status === 200) seqno++;
        else await delay(session.everyMs);
      }
  }
}

/** A client spells the same call the same way each time. */
async function ask(call: Call, { seed, bustsCaches }: Session, { connections, heard }: Scene): Promise<HeardAnswer> {
  const { target } = writeLegibly(call, new SeededRandom('writing', seed));
  const sentAt = Date.now();
  const { status, body } = await connections.ask(target + (bustsCaches ? `&_=${sentAt}` : ''), PATIENCE_MS);
  const answer = { call, sentAt, receivedAt: Date.now(), status, text: body };
  heard(answer);
  return answer;
}
