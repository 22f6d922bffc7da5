import type { AppContext } from '../compose/context.ts';
import { COST_OF_LOOK_UPS, FollowerSwitch, type FollowerSwitchDependencies, type Polls } from './follower-switch.ts';
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
  takePolls: () => Polls,
  instances: FollowerSwitchDependencies['instances'],
) {
  if (!operations.all.some(({ touchedBy }) => touchedBy !== undefined)) return undefined;
  let source: OwnerSource | undefined;
  const settled = new SettledWallets({ touches, now: monotonic });
  const lookUps = new OwnerLookUps({
    source: {
      wallets: async (...asked) => source?.wallets(...asked),
      states: async (...asked) => source?.states(...asked),
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
    isBeginning: () => lookUps.isBeginning,
    isAlive: () => lookUps.isAlive,
    instances,
  });
  return {
    lookUps,
    settled,
    worth,
    get isBeginning(): boolean {
      return lookUps.isOn && lookUps.isBeginning;
    },
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
