import { setTimeout as delay } from 'node:timers/promises';
import { type ClientAnswer, type ClientCall, targetOf } from '../../../src/tools/demo/client.ts';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import type { Heard, Lost } from '../overload/connection.ts';
import type { Connections } from '../overload/connections.ts';
import type { Session } from './sessions.ts';

/** The part of the hour that is played, and where. Instants are epoch ms. */
export interface Scene {
  readonly connections: Connections;
  /** The chain at the present: scanners begin at its head. */
  readonly chain: () => Chain;
  /** When the hour began. */
  readonly startAt: number;
  readonly fromAt: number;
  readonly untilAt: number;
  /** Called with every answer. */
  readonly heard: (answer: ClientAnswer) => void;
}

/** A client gives up on an answer after this time. */
const PATIENCE_MS = 10_000;
/** Most explorers show both neighbours, so they leave the direction out. */
const DIRECTIONS = [{}, {}, { direction: 'in' }, { direction: 'out' }] as const;

/** Plays all sessions that overlap the scene, each at its time; resolves when the last one has ended. */
export async function play(sessions: readonly Session[], scene: Scene): Promise<void> {
  const from = scene.fromAt - scene.startAt;
  const until = scene.untilAt - scene.startAt;
  const shown = sessions.filter(({ startMs, endMs }) => startMs < until && endMs > from);
  await Promise.all(shown.map((session) => new PlayedSession(session, scene).play()));
}

class PlayedSession {
  readonly #session: Session;
  readonly #scene: Scene;
  readonly #endAt: number;

  constructor(session: Session, scene: Scene) {
    this.#session = session;
    this.#scene = scene;
    this.#endAt = Math.min(scene.untilAt, scene.startAt + session.endMs);
  }

  async play(): Promise<void> {
    const { startAt, fromAt } = this.#scene;
    const { startMs, everyMs } = this.#session;
    // Sessions that began before the scene resume at different moments, not all at once.
    const goesOnAt = fromAt + ((((startMs * 7919) % everyMs) + everyMs) % everyMs);
    await until(startAt + startMs >= fromAt ? startAt + startMs : goesOnAt);
    switch (this.#session.kind) {
      case 'wallet':
        return this.#wait(this.#session.externalHash);
      case 'watcher':
        return this.#poll({ about: 'account', account: this.#session.account });
      case 'explorer':
        return this.#walk(this.#session);
      case 'scanner':
        return this.#scan();
    }
  }

  /** Polls until a trace that was pending is no longer listed, which means that it is final. */
  async #wait(externalHash: string): Promise<void> {
    let wasSeen = false;
    await this.#poll({ about: 'message', externalHash }, (text) => {
      const isThere = !/"traces":(?:\[\]|null)/.test(text);
      const isOver = wasSeen && !isThere;
      wasSeen ||= isThere;
      return isOver;
    });
  }

  async #poll(call: ClientCall, isEnough: (text: string) => boolean = () => false): Promise<void> {
    while (Date.now() < this.#endAt) {
      const nextAt = Date.now() + this.#session.everyMs;
      const answer = await this.#ask(call);
      if (answer.status === 200 && isEnough(answer.text)) return;
      await until(nextAt);
    }
  }

  async #walk({ hash: start, clicks, seed, everyMs }: Session & { readonly kind: 'explorer' }): Promise<void> {
    const random = new SeededRandom('walk', seed);
    let hash = start;
    for (let click = 0; click < clicks && Date.now() < this.#endAt; click++) {
      const { status, text } = await this.#ask({ about: 'transaction', hash, ...random.pick(DIRECTIONS) });
      if (status !== 200) return;
      const { transactions }: { transactions: readonly { readonly hash: string }[] } = JSON.parse(text);
      hash = random.pick(transactions).hash;
      await delay(everyMs);
    }
  }

  async #scan(): Promise<void> {
    let seqno = this.#scene.chain().headSeqno;
    while (Date.now() < this.#endAt) {
      const { status } = await this.#ask({ about: 'block', seqno });
      if (status === 200) seqno++;
      else await delay(this.#session.everyMs);
    }
  }

  async #ask(call: ClientCall): Promise<ClientAnswer> {
    const { address, hash, style, bustsCaches } = this.#session.writing;
    const more = (call.about === 'block' ? '&limit=100' : '') + (bustsCaches ? `&_=${Date.now()}` : '');
    const target = targetOf(call, { address, hash, style }) + more;
    const sentAt = Date.now();
    const { promise, resolve } = Promise.withResolvers<Heard | Lost>();
    const leave = this.#scene.connections.ask(target, resolve);
    const patience = setTimeout(() => {
      leave();
      resolve({ lost: 'no answer in time' });
    }, PATIENCE_MS);
    const heard = await promise;
    clearTimeout(patience);
    const said = 'lost' in heard ? { status: 0, text: heard.lost } : { status: heard.status, text: heard.body };
    const answer = { call, sentAt, receivedAt: Date.now(), ...said };
    this.#scene.heard(answer);
    return answer;
  }
}

async function until(instant: number): Promise<void> {
  const ms = instant - Date.now();
  if (ms > 0) await delay(ms);
}
