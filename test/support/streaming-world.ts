import type { Trace } from '../../src/tools/simulator/trace.ts';
import type { World } from '../e2e/world.ts';

/** The address of a wallet. */
export function accountOf(world: World, place = 0): string {
  const wallet = world.indexer.chain.accounts.wallets[place];
  if (wallet === undefined) throw new Error('it has many');
  return wallet.address;
}

/** A wallet sends a message now. */
export function send(world: World, place = 0): Trace {
  const { chain } = world.indexer;
  const trace = chain.trace(chain.send(chain.accounts.wallets[place]));
  if (trace === undefined) throw new Error('it was sent');
  return trace;
}
