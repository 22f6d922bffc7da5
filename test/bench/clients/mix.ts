import type { CENSUS } from '../../clients/census.ts';

export type Request = keyof typeof CENSUS;

export interface Kind {
  readonly count: number;
  /** Their requests, each with its interval in seconds. */
  readonly polls: readonly (readonly [request: Request, everySeconds: number])[];
  /** True if all of them poll one account. Otherwise each has its own. */
  readonly isShared?: boolean;
}

const WIDGET: Kind['polls'] = [
  ['widgetBalance', 5],
  ['widgetWalletAddress', 5],
  ['widgetWalletData', 5],
];

/** The requests of a MyTonWallet, with its stream every 66 s. */
const myTonWallet = (everySeconds: number): Kind['polls'] => [
  ['walletActions', everySeconds],
  ['walletPendingActions', everySeconds],
  ['walletState', everySeconds],
  ['walletJettons', everySeconds],
];

const STATES_OF_WALLET: Kind['polls'] = [
  ['walletState', 60],
  ['walletState', 60],
];

export interface Mix {
  /** The polling clients. */
  readonly kinds: readonly Kind[];
  readonly scanners: number;
  /** Each waits for a message, and then for the next one. */
  readonly waiting: number;
}

/** 90 requests a second. */
const KINDS: readonly Kind[] = [
  {
    count: 60,
    polls: [
      ['balance', 15],
      ['jettons', 15],
      ['nfts', 15],
    ],
  },
  { count: 40, polls: WIDGET },
  { count: 20, polls: [...WIDGET.slice(1), ['stakingPool', 5], ['stakingPoolBalance', 5]] },
  { count: 27, polls: [...myTonWallet(66), ...STATES_OF_WALLET] },
  { count: 3, polls: [...myTonWallet(3.3), ...STATES_OF_WALLET] },
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
  { count: 10, polls: [['paymentActions', 3]] },
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

/** How often a client polls for its message, ms. */
export const WAITING_EVERY_MS = 2000;

export const MIXES = {
  all: { kinds: KINDS, scanners: 3, waiting: 4 },
  /** 100 swap widgets with three tokens. Each token is that of another account: its wallet is another contract anyway. */
  swap: { kinds: [{ count: 300, polls: WIDGET.slice(1) }], scanners: 0, waiting: 0 },
} as const satisfies Readonly<Record<string, Mix>>;
