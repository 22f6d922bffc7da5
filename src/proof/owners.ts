import type { AppContext } from '../compose/context.ts';
import { COST_OF_LOOK_UPS, FollowerSwitch } from './follower-switch.ts';
import { OwnerLookUps, type OwnerSource } from './owner-look-ups.ts';
import type { ReadBlocks } from './read-blocks.ts';
import { SettledWallets } from './settled-wallets.ts';
import type { Touches } from './touches.ts';

/** The look-ups of owners, with a switch of their own. */
export type Owners = NonNullable<ReturnType<typeof openOwners>>;

/** Builds them; `undefined` if no operation in use has answers about owners. */
export function openOwners(
  { operations, monotonic, events }: AppContext,
  touches: Touches,
  blocks: ReadBlocks,
  takePolls: () => number,
) {
  if (!operations.all.some(({ touchedBy }) => touchedBy !== undefined)) return undefined;
  let source: OwnerSource | undefined;
  const settled = new SettledWallets({ touches, now: monotonic });
  const lookUps = new OwnerLookUps({
    source: {
      wallets: async (accounts) => source?.wallets(accounts),
      states: async (accounts) => source?.states(accounts),
    },
    settled,
    blocks,
    now: monotonic,
    onBug: events.reportBug,
  });
  const worth = new FollowerSwitch({
    now: monotonic,
    takePolls,
    expectedCost: COST_OF_LOOK_UPS,
    isAlive: () => lookUps.isAlive,
  });
  return {
    lookUps,
    settled,
    worth,
    start: (owners: OwnerSource): void => {
      source = owners;
    },
    /** Call every second: may switch the look-ups on or off. They are off while blocks are not followed. */
    lookWhetherItPays: (isFollowing: boolean): void => {
      worth.tick();
      const isOn = worth.isOn && isFollowing;
      if (lookUps.isOn !== isOn) lookUps.switched(isOn);
    },
  };
}
