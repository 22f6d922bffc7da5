import type { CENSUS } from '../../clients/census.ts';

export type Request = keyof typeof CENSUS;

export interface Kind {
  readonly count: number;
  /** Their requests, each with its interval in seconds. */
  readonly polls: readonly (readonly [request: Request, everySeconds: number])[];
  /** True if all of them poll one account. Otherwise each has its own. */
  readonly isShared?: boolean;
}

const APPKIT: Kind['polls'] = [
  ['balance', 5],
  ['jettons', 5],
  ['history', 30],
];

/** The polling clients. Scanners follow the head, see `measure.ts`. */
export const KINDS: readonly Kind[] = [
  { count: 80, polls: APPKIT },
  { count: 40, polls: [...APPKIT, ['staking', 5]] },
  {
    count: 30,
    polls: [
      ['walletActions', 3],
      ['walletPendingActions', 3],
      ['walletState', 60],
    ],
  },
  {
    count: 20,
    polls: [
      ['deposits', 5],
      ['jettonDeposits', 10],
    ],
  },
  {
    count: 6,
    isShared: true,
    polls: [
      ['botBalance', 5],
      ['depositsSorted', 5],
    ],
  },
  {
    count: 8,
    polls: [
      ['states', 10],
      ['jettonMaster', 10],
      ['trace', 10],
      ['explorerMessage', 10],
      ['payment', 10],
      ['explorerPage', 10],
    ],
  },
];

export const SCANNERS = 3;
